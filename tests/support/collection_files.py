"""Two collection files that are right, one small and one large, and what is wrong with one that is changed."""

from __future__ import annotations

import pytest

from deniable import Collection, CollectionError

__all__ = ["LARGE", "SMALL", "changed", "problems"]

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
