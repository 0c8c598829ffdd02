"""Names that an application records: one of a list, or the nearest one that was probably meant."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from deniable._section import nearest
from deniable.errors import InvalidValueError
from deniable.kinds._values import shown, text

__all__ = ["check_name", "check_names", "literal"]

_MOST_LITERALS = 256
_FEW = 12
_SEVERAL = (set, frozenset, list, tuple)


def literal(names: Collection[str]) -> str:
    """The type of names, as Python writes it; of very many, text."""
    quoted = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    return f"Literal[{quoted}]" if len(names) <= _MOST_LITERALS else "str"


def check_name(value: Any, known: Collection[str], what: str) -> str:
    """The name, if it is known."""
    name = value if type(value) is str else text(value)
    if name is not None and name in known:
        return name
    close = nearest(name, known) if name is not None else None
    hint = f"; did you mean {close!r}?" if close else f"; known: {', '.join(known)}" if len(known) <= _FEW else ""
    raise InvalidValueError(f"not one of the {len(known)} {what}: {shown(value)}{hint}")


def check_names(value: Any, known: Collection[str], what: str) -> list[str]:
    """The names, sorted, each once, if all are known."""
    if not issubclass(type(value), _SEVERAL):
        raise InvalidValueError(f"takes a set of {what}, not {shown(value)}")
    return sorted({check_name(name, known, what) for name in value})
