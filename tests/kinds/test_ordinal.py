"""Ordinal: a category whose values have an order."""

from __future__ import annotations

import pytest

from deniable.errors import InvalidValueError
from deniable.kinds import Ordinal
from deniable.mechanisms import Exponential, RandomizedResponse
from support.asked import ONCE, asked, refused

OFTEN = 'values = ["never", "seldom", "often", "always"]\n'


def test_an_ordinal_is_asked_for_places() -> None:
    """The input is the place of the value; the two ends are the easiest to tell apart."""
    metric = asked("ordinal", OFTEN + "epsilon = 1.0")
    (column,) = metric.columns
    assert column.mechanism == RandomizedResponse(metric.epsilon, 4)
    near = asked("ordinal", OFTEN + 'epsilon = 1.0\nmechanism = "exponential"')
    assert near.columns[0].mechanism == Exponential(metric.epsilon, 4)
    places = [metric.encode(value, lambda: 0) for value in ("never", "seldom", "often", "always")]
    assert places == [(column, 0), (column, 1), (column, 2), (column, 3)]
    assert metric.kind.apart() == ("never", "always")
    assert metric.randomize("often").payload in range(4)


def test_randomized_response_is_chosen_by_name() -> None:
    """For shares, which it estimates with less variance."""
    metric = asked("ordinal", OFTEN + 'epsilon = 1.0\nmechanism = "randomized_response"')
    assert metric.columns[0].mechanism == RandomizedResponse(metric.epsilon, 4)


def test_the_order_is_part_of_the_question() -> None:
    """The same values in another order are another question: the digests differ."""
    kinds = [asked("ordinal", f"values = {values}\nepsilon = 1.0").kind for values in (["a", "b"], ["b", "a"])]
    assert kinds[0].parameters() != kinds[1].parameters()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("Often", "not one of the 4 values of this ordinal: 'Often'; did you mean 'often'?"),
        ("xyzzy", "not one of the 4 values of this ordinal: 'xyzzy'; known: never, seldom, often, always$"),
        (2, "not one of the 4 values of this ordinal: 2; known: never, seldom, often, always$"),
    ],
)
def test_other_values_are_not_taken(value: object, says: str) -> None:
    """With the nearest one that is."""
    with pytest.raises(InvalidValueError, match=says.replace("?", r"\?")):
        asked("ordinal", OFTEN + "epsilon = 1.0").kind.check(value)


def test_what_can_not_be_asked() -> None:
    """Too few values, distances that are remembered, a mechanism that is not for ordinals."""
    assert refused("ordinal", 'values = ["one"]\nepsilon = 1.0') == [
        "one.values: must be a list of 2 to 256 texts, not 1 of them"
    ]
    assert refused("ordinal", OFTEN + 'epsilon = 1.0\nmemoize = true\nmechanism = "exponential"') == [
        f"one: an ordinal by exponential {ONCE}"
    ]
    assert {"exponential", "randomized_response"} <= set(Ordinal.mechanisms)
    assert refused("ordinal", OFTEN + 'epsilon = 1.0\nmechanism = "laplace"')[0].startswith(
        f"one.mechanism: unknown word 'laplace'; known: {', '.join(sorted(('auto', *Ordinal.mechanisms)))}"
    )
