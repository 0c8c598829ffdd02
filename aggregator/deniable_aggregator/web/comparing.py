"""What is asked of comparisons over HTTP, and numbers as parameters have them."""

from __future__ import annotations

from aiohttp import web

from deniable.v1 import estimate_service_pb2 as pb

__all__ = ["comparisons_of", "count", "fraction", "is_comparing", "is_comparison"]

_NAMES = {"with", "with_last_epoch", "apart", "changed", "rate"}
_SEGMENT, _BASELINE = "with.", "baseline."


def is_comparison(request: web.Request) -> bool:
    """Whether comparisons are asked for."""
    return "/comparisons" in request.path


def is_comparing(name: str) -> bool:
    """Whether a parameter is of comparisons."""
    return name in _NAMES or name.startswith((_SEGMENT, _BASELINE))


def comparisons_of(request: web.Request, query: pb.Query) -> pb.ListComparisonsRequest:
    """The question of a request's parameters, of which the query has been taken."""
    asked = pb.ListComparisonsRequest(
        collection=request.match_info["collection"], metric=request.match_info.get("metric", ""), query=query
    )
    for name, value in request.query.items():
        if name == "with":
            asked.before.epochs = count(name, value)
        elif name == "with_last_epoch":
            asked.before.last_epoch = count(name, value)
        elif name.startswith(_SEGMENT):
            asked.before.segment[name.removeprefix(_SEGMENT)] = value
        elif name.startswith(_BASELINE):
            asked.baseline.add(key=name.removeprefix(_BASELINE), value=_number(name, value))
        elif name == "apart":
            asked.apart = _flag(name, value)
        elif name == "changed":
            asked.changed = fraction(name, value)
        elif name == "rate":
            asked.false_discovery_rate = fraction(name, value)
    return asked


def count(name: str, value: str) -> int:
    """A whole number."""
    if not value.isascii() or not value.isdigit() or int(value) >= 1 << 32:
        raise ValueError(f"{name} is a whole number below 2^32, not {value!r}")
    return int(value)


def fraction(name: str, value: str) -> float:
    """A part of a whole; whoever takes it knows whether it can be."""
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} is a number between 0 and 1, not {value!r}") from None


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} is a number, not {value!r}") from None


def _flag(name: str, value: str) -> bool:
    if value not in {"true", "false"}:
        raise ValueError(f"{name} is true or false, not {value!r}")
    return value == "true"
