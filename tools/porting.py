"""Test vectors for other languages: `vectors/`, made of what both halves in Python do.

python -m tools.porting           say which files are not what the command makes
python -m tools.porting --write   make them

words:
  case  one line of a file: what is given, and what comes of it
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.porting_answers import answers, batches
from tools.porting_collections import book, collections, kinds, loaded
from tools.porting_mechanisms import draws, mechanisms

__all__ = ["ROOT", "alike", "files", "near"]

ROOT = Path(__file__).resolve().parent.parent / "vectors"


def files(*, answered: bool = True) -> Iterator[tuple[str, Any]]:
    """The name and the content of each file; not `answered`, without the one that takes as long as all others."""
    sources = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "collections").glob("*.toml"))
    every = [loaded(source, ROOT) for source in sources]
    yield "collections.json", {"collections": collections(every)}
    yield "kinds.json", kinds(every)
    yield "draws.json", draws()
    yield "codebook.json", book()
    for each in mechanisms([own.collection for own in every]):
        yield f"mechanisms/{each['mechanism']}.json", each
    yield "batches.json", batches(every)
    if answered:
        yield "answers.json", answers(every)


def written(content: dict[str, Any]) -> str:
    """As it is in a file: a line for each case."""
    parts = []
    for name, value in content.items():
        rows = isinstance(value, list) and value and isinstance(value[0], list | dict)
        lines = ",\n".join(_text(each) for each in value) if rows else ""
        parts.append(f"{_text(name)}:" + (f"[\n{lines}\n]" if rows else _text(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def alike(name: str, one: Any, other: Any) -> bool:
    """Whether two contents of a file are the same: of answers, as near as they have to be."""
    if name != "answers.json":
        return bool(one == other)
    rest = [[{**case, "rows": None} for case in each["cases"]] for each in (one, other)]
    return rest[0] == rest[1] and all(
        near(first["rows"], second["rows"], one["tolerance"])
        for first, second in zip(one["cases"], other["cases"], strict=True)
    )


def near(rows: list[list[Any]], others: list[list[Any]], tolerance: float) -> bool:
    """Whether rows are the same, and their numbers within a part of their interval, or of themselves."""
    if [row[:2] for row in rows] != [row[:2] for row in others]:
        return False
    for row, other in zip(rows, others, strict=True):
        ends = [end for end in row[3:5] if end is not None]
        wide = max(ends) - min(ends) if len(ends) == 2 else 0
        for one, two in zip(row[2:], other[2:], strict=True):
            if (one is None) != (two is None):
                return False
            if one is not None and math.fabs(one - two) > tolerance * max(wide, math.fabs(one)):
                return False
    return True


def main() -> int:
    """Write what differs, or say so; how it ended."""
    made = dict(files())
    differing = [name for name, content in made.items() if not _same(name, content)]
    strange = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.json")} - made.keys()
    strange = {name for name in strange if not name.startswith("schemas/")}
    if "--write" in sys.argv[1:]:
        for name in strange:
            (ROOT / name).unlink()
        for name in differing:
            (ROOT / name).parent.mkdir(exist_ok=True)
            (ROOT / name).write_text(written(made[name]), encoding="utf-8")
        return 0
    for name in sorted({*differing, *strange}):
        print(f"vectors/{name} is not what `python -m tools.porting --write` makes")
    return bool(differing or strange)


def _same(name: str, content: Any) -> bool:
    path = ROOT / name
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    return text == written(content) or (name == "answers.json" and alike(name, json.loads(text), content))


if __name__ == "__main__":
    sys.exit(main())
