"""Collection files: written in few words, two that are right, and what is wrong with one that is changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from deniable import Collection, CollectionError

__all__ = ["LARGE", "SMALL", "changed", "head", "metric", "problems"]

SMALL = """
[collection]
name = "small"
owner = "someone@example.org"
epoch = "1d"
[budget]
epoch = 1
[metrics.answer]
kind = "boolean"
description = "The answer is yes"
epsilon = 1
"""

LARGE = """
[collection]
name = "large"
epoch = "7d"
owner = "someone@example.org"

[budget]
epoch = 5.5
lifetime = 100.0

[segments]
platform = ["linux", "macos", "windows"]
channel = ["stable", "beta"]

[metrics.minutes]
kind = "number"
description = "Minutes in the foreground"
range = [-10, 480]
step = 0.5
unit = "minutes"
epsilon = 1.5
reduce = "sum"
mechanism = "laplace"

[metrics.browser]
kind = "category"
description = "The default browser"
values = ["chrome", "edge", "firefox"]
epsilon = "ln 3"
expires = 2030-12-31

[metrics.dark]
kind = "boolean"
description = "The dark theme is on"
epsilon = 2.0
"""


def head(
    name: str,
    budget: float,
    *,
    epoch: str = "1d",
    version: int | None = None,
    lifetime: float | None = None,
    sample: float | None = None,
    **segments: Sequence[str],
) -> str:
    """What a file begins with: whose it is, what a device may spend in an epoch and in its life, and its segments."""
    about: dict[str, Any] = {"name": name, "epoch": epoch, "owner": "telemetry@example.org", "version": version}
    about["sample"] = sample
    tables = {"collection": about, "budget": {"epoch": budget, "lifetime": lifetime}, "segments": segments}
    return "".join(f"[{table}]\n{_lines(keys)}" for table, keys in tables.items() if keys)


def metric(name: str, kind: str, description: str = "d", **keys: Any) -> str:
    """What a file says of a metric, key by key; its epsilon is 1 unless another is given."""
    return f"[metrics.{name}]\n" + _lines({"kind": kind, "description": description, "epsilon": 1} | keys)


def _lines(keys: Mapping[str, Any]) -> str:
    """Those keys that have a value, as TOML has them: dates stand as they are, and everything else as in JSON."""
    told = {key: value if isinstance(value, date) else json.dumps(value) for key, value in keys.items()}
    return "".join(f"{key} = {value}\n" for key, value in told.items() if value != "null")


def problems(text: str) -> list[tuple[str, str]]:
    """What is wrong with a text: the key and the words."""
    with pytest.raises(CollectionError) as refusal:
        Collection.loads(text, "metrics.toml")
    for problem in refusal.value.problems:
        assert str(problem).startswith("metrics.toml: ")
        assert problem.where in str(problem)
        assert str(problem) in str(refusal.value)
    return [(problem.where, problem.what) for problem in refusal.value.problems]


def changed(old: str, new: str, text: str = LARGE) -> str:
    """The text with one thing changed."""
    assert text.count(old) == 1, f"{text.count(old)} times {old!r}"
    return text.replace(old, new)
