"""Category: `auto` is near the best that can be, says why, and is overruled by name."""

from __future__ import annotations

import numpy as np
import pytest

import deniable
from deniable.epsilon import Epsilon
from deniable.errors import CollectionError
from deniable.kinds import Category
from deniable.mechanisms import MECHANISMS, SubsetSelection, Supporting, fitting
from deniable_aggregator import estimate
from support.counting import calls
from tools import category_accuracy

DOMAINS = (2, 5, 16, 48, 49, 100, 256, 1024, 4096, 65536)
KNOWN = ["randomized_response", "subset_selection", "projective_geometry"]
"""Those of which figures stand here, in the order of their registration; what holds for all is asked of all."""
COLLECTION = """
[collection]
name = "one"
epoch = "1d"
owner = "a"
[budget]
epoch = 10
[metrics.one]
kind = "category"
description = "d"
epsilon = {epsilon}
values = {values}
{more}
"""


def category(inputs: int) -> Category:
    """A category of so many values."""
    return Category(tuple(f"v{number}" for number in range(inputs)))


def loaded(inputs: int, epsilon: float, more: str = "") -> deniable.Metric:
    """The metric of a collection file with one category."""
    values = list(category(inputs).values)
    text = COLLECTION.format(epsilon=epsilon, values=str(values).replace("'", '"'), more=more)
    return deniable.Collection.loads(text).metrics["one"]


@pytest.mark.parametrize("inputs", DOMAINS)
def test_auto_is_within_a_few_per_cent_of_the_best(inputs: int) -> None:
    """At most 1.03 times subset selection's least variance up to epsilon 2, and 1.10 times up to 5, exactly."""
    asked = category(inputs)
    for twentieths in range(1, 101, 3):
        epsilon = Epsilon.of(twentieths / 20)
        (mechanism,) = asked.columns(epsilon, "auto")
        assert isinstance(mechanism, Supporting)
        assert mechanism.name in fitting(inputs)
        assert mechanism.automatic
        p, q = mechanism.p, mechanism.q
        best = SubsetSelection.best(epsilon, inputs).variance
        assert q * (1 - q) / (p - q) ** 2 <= best * (1.03 if twentieths <= 40 else 1.10)


def test_choices_say_why() -> None:
    """The first choice is what auto takes; all others that fit follow by variance, with what they would need, and
    last those that are only named."""
    first, *others = category(100).choices(Epsilon.of(1.0))
    assert sorted(each.name for each in (first, *others)) == sorted(fitting(100))
    assert others == sorted(others, key=lambda each: (not each.mechanism.automatic, each.variance))
    assert all(each.wide == each.mechanism.shape.wide for each in others)
    assert (first.name, first.wide) == ("projective_geometry", False)
    assert first.mechanism == category(100).columns(Epsilon.of(1.0), "auto")[0]
    subset, response = (each for each in others if each.name in KNOWN)
    assert (subset.name, subset.wide) == ("subset_selection", True)
    assert (response.name, response.wide) == ("randomized_response", False)
    assert subset.variance < first.variance < 1.03 * subset.variance < response.variance


@pytest.mark.parametrize(
    ("inputs", "epsilon", "name", "wide"),
    [
        (2, 1.0, "randomized_response", False),
        (5, 1.0, "randomized_response", False),
        (16, 1.0, "subset_selection", False),
        (48, 1.0, "subset_selection", False),
        (49, 1.0, "subset_selection", True),  # projective geometry: 1.06 times the variance
        (256, 1.0, "projective_geometry", False),
        (256, 4.0, "subset_selection", True),  # 1.13 times
        (256, 5.0, "randomized_response", False),
        (4096, 6.0, "subset_selection", True),
        (4097, 6.0, "projective_geometry", False),  # no bitmap is that wide
        (65536, 12.0, "randomized_response", False),
    ],
)
def test_auto_chooses(inputs: int, epsilon: float, name: str, wide: bool) -> None:
    """Where two are equally good, the symbol; a wide row only where it pays."""
    (mechanism,) = category(inputs).columns(Epsilon.of(epsilon), "auto")
    assert (mechanism.name, mechanism.shape.wide) == (name, wide)


def test_names_are_honoured() -> None:
    """Every mechanism of a category can be asked for by name, and auto is what is chosen without one."""
    assert [name for name in Category.mechanisms if name in KNOWN] == KNOWN
    assert list(Category.mechanisms) == [
        name for name, sort in MECHANISMS.items() if issubclass(sort, Supporting) and sort.most_answers
    ]
    for name, sort in fitting(2).items():
        size = min(20, sort.most_answers)
        assert loaded(size, 1.0, f'mechanism = "{name}"').columns[0].mechanism.name == name
    assert loaded(20, 1.0) == loaded(20, 1.0, 'mechanism = "auto"')


LIMITED = {name: sort.most_answers for name, sort in fitting(2).items() if sort.most_answers < Category.most_values}
"""Which take fewer values than a category may have, and how many."""


def test_a_bitmap_is_limited() -> None:
    """To the bits that are sent; symbols are not."""
    assert LIMITED["subset_selection"] == 4096
    assert [name for name in KNOWN if name in fitting(4097)] == ["randomized_response", "projective_geometry"]


@pytest.mark.parametrize("name", LIMITED)
def test_a_bitmap_that_is_too_wide_is_refused_with_advice(name: str) -> None:
    """More values than bits that are sent: the error says how many there may be and what to use instead."""
    most = LIMITED[name]
    with pytest.raises(CollectionError) as refused:
        loaded(most + 1, 1.0, f'mechanism = "{name}"')
    said, _, instead = str(refused.value).partition(", or use ")
    assert said.endswith(
        f"metrics.one: {name} asks for one of at most {most} answers, not of {most + 1}: leave the mechanism out"
    )
    assert instead.split(" or ") == [f'"{other}"' for other in fitting(most + 1)]


def test_large_categories_load_in_steps_that_grow_with_them() -> None:
    """65,536 values take at most 25 steps each: to read and to check their names, and nothing for every pair."""
    few = calls(lambda: loaded(16, 1.0))
    assert calls(lambda: loaded(1024, 1.0)) < few + 25 * 1024
    assert calls(lambda: loaded(65_536, 1.0)) < few + 25 * 65_536


@pytest.mark.parametrize(("inputs", "epsilon"), [(5, 1.0), (16, 1.0), (49, 1.0), (256, 1.0)])
def test_estimates_err_as_the_choice_says(inputs: int, epsilon: float) -> None:
    """Randomised by the SDK and estimated through the whole aggregator, errors are those that the choice states.

    200 rounds of 100 devices, all with the first value: the mean over rounds of the squared errors of the other
    values lies within 5 of its own standard errors of the variance, false one time in a million. A variance that is
    off by half would be seen with a probability of more than 0.999: it is at least 8 standard errors away.
    """
    metric = loaded(inputs, epsilon)
    assert isinstance(metric.kind, Category)
    variance = metric.kind.choices(metric.epsilon)[0].variance
    rounds, devices = 200, 100
    ratios = np.empty(rounds)
    for number in range(rounds):
        answer = estimate(metric, [metric.randomize("v0") for _ in range(devices)])
        ratios[number] = np.mean([row.value**2 for row in answer.rows[1:]]) * devices / variance
    spread = ratios.std() / rounds**0.5
    assert abs(ratios.mean() - 1) < 5 * spread
    assert 8 * spread < 0.5


def test_the_page_is_current() -> None:
    """docs/category-accuracy.md is what its command makes."""
    assert category_accuracy.main(["--check"]) == 0
