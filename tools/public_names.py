"""The public names of both distributions, with their signatures: what an application or a notebook may rely on.

words:
  name    what `__all__` of one of PACKAGES gives, and every public member of what it gives
  before  what a name was at the last release: null where there was none

`python -m tools.public_names` writes tests/public_names.json anew and notes what has changed since the release; each
name there has to be in the CHANGELOG's unreleased section. `--released` forgets what was before, at a release.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, is_typeddict

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "public_names.json"
CHANGELOG = ROOT / "CHANGELOG.md"
PACKAGES = ("deniable", "deniable_aggregator", "deniable_aggregator.learning")


def found() -> dict[str, str]:
    """Every public name, and what it is."""
    return {
        name: what
        for package in PACKAGES
        for own in importlib.import_module(package).__all__
        for name, what in _described(f"{package}.{own}", getattr(importlib.import_module(package), own))
    }


def _described(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, type):
        yield name, _signature(value)
        return
    if is_typeddict(value):
        yield name, ", ".join(f"{key}: {_written(about)}" for key, about in value.__annotations__.items())
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield name, f"class({bases})"
    if issubclass(value, enum.Enum):
        yield from ((f"{name}.{member.name}", repr(member.value)) for member in value)
    elif not issubclass(value, Exception):
        yield f"{name}()", _signature(value)
    for member, own in _members(value):
        yield f"{name}.{member}", own


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """Public attributes that the class or a base of ours gives, but for what an enum or a tuple brings along."""
    seen = set()
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            seen.add(field.name)
            yield field.name, str(field.type)
    for base in kind.__mro__:
        if not base.__module__.startswith(PACKAGES):
            continue
        for member, own in sorted(vars(base).items()):
            if member.startswith("_") or member in seen or isinstance(own, kind):
                continue
            seen.add(member)
            if isinstance(own, property):
                yield member, f"property -> {inspect.signature(own.fget or len).return_annotation}"
            elif isinstance(own, classmethod | staticmethod):
                yield member, _signature(getattr(kind, member))
            elif callable(own):
                yield member, _signature(own)
            elif type(own).__name__ == "_tuplegetter":
                yield member, _written(kind.__annotations__[member])


def _signature(value: Any) -> str:
    """Parameters and result as they are written, the same in every version of Python."""
    signature = inspect.signature(value)
    shown, last = [], None
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and last not in {each.KEYWORD_ONLY, each.VAR_POSITIONAL}:
            shown.append("*")
        last = each.kind
        stars = "*" * (each.kind is each.VAR_POSITIONAL) + "**" * (each.kind is each.VAR_KEYWORD)
        about = "" if each.annotation is each.empty else f": {_written(each.annotation)}"
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        shown.append(f"{stars}{each.name}{about}{default}")
    result = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    return f"({', '.join(shown)}){result}"


def _written(annotation: Any) -> str:
    return str(getattr(annotation, "__forward_arg__", annotation))


def _default(value: Any) -> str:
    return str(value) if isinstance(value, enum.Enum) else getattr(value, "__qualname__", repr(value))


def unreleased() -> set[str]:
    """What the CHANGELOG's unreleased section names, between backticks."""
    section = re.split(r"^## ", CHANGELOG.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    assert section.startswith("[Unreleased]"), section[:40]
    return set(re.findall(r"`([^`\n]+)`", section))


def untold(before: Mapping[str, str | None]) -> list[str]:
    """Which changed names the CHANGELOG does not have, without their package."""
    return sorted({name.partition(".")[2] for name in before} - unreleased())


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--released", action="store_true", help="what is there now is what was released")
    released = parser.parse_args().released
    now = found()
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"names": now, "before": {}}
    before: dict[str, str | None] = {} if released else dict(kept["before"])
    for name in sorted({*now, *kept["names"]}):
        if not released and now.get(name) != kept["names"].get(name):
            before.setdefault(name, kept["names"].get(name))
    before = {name: was for name, was in sorted(before.items()) if now.get(name) != was}
    FILE.write_text(json.dumps({"names": now, "before": before}, indent=1, ensure_ascii=False) + "\n")
    for name in untold(before):
        print(f"CHANGELOG.md, Unreleased: say what has become of `{name}`")


if __name__ == "__main__":
    main()
