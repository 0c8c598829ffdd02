"""`robust`: a list whose mechanism is chosen by how far one fake moves ten of its answers together, too."""

from __future__ import annotations

import math
import re
from itertools import combinations
from random import Random

import pytest

from deniable import Collection, CollectionError, Metric
from deniable.epsilon import Epsilon
from deniable.kinds import Category
from deniable.mechanisms import (
    ALLOWANCE,
    ProjectiveGeometryResponse,
    choices,
    choose,
    gain_over,
    gain_over_ten,
)
from deniable.mechanisms._gain import drawn
from support.asked import asked
from support.collection_files import head, metric
from support.commands import ROOT

SIZES = (16, 48, 64, 200, 1024)
EPSILONS = (1, 2, 3, 4)
SORTS = {"r": "randomized_response", "s": "subset_selection", "p": "projective_geometry"}
CHOSEN = {16: "ss sr r r", 48: "sp sp sr r", 64: "sp sp sr r", 200: "p p p sp", 1024: "p p p p"}
"""What `auto` takes at each epsilon, and then what a robust list takes, where that is something else."""


def listed(size: int, more: str = "", epsilon: str = "1.0") -> Metric:
    """A metric with so many values."""
    values = str([f"v{number}" for number in range(size)]).replace("'", '"')
    return asked("category", f"values = {values}\nepsilon = {epsilon}\n{more}")


@pytest.mark.parametrize("size", SIZES)
def test_what_is_chosen(size: int) -> None:
    """Exactly: devices of every version, and in every language, have to choose alike."""
    for epsilon, expected in zip(EPSILONS, CHOSEN[size].split(), strict=True):
        plain, robust = (Category(tuple(listed(size).kind.names(0)), robust=own) for own in (False, True))
        found = [kind.columns(Epsilon.of(epsilon), "auto")[0].name for kind in (plain, robust)]
        assert found == [SORTS[expected[0]], SORTS[expected[-1]]], epsilon


@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_least_moved_that_is_accurate_enough(size: int) -> None:
    """Of those of `auto` that have at most so many times the least variance; the first of the choices, which are all
    there."""
    for epsilon in map(Epsilon.of, EPSILONS):
        every = Category(tuple(listed(size).kind.names(0)), robust=True).choices(epsilon)
        assert {each.name for each in every} == {each.name for each in choices(epsilon, size)}
        own = [each for each in every if each.mechanism.automatic]
        least = min(each.mechanism.variance for each in own)
        near = [each for each in own if each.mechanism.variance <= ALLOWANCE * least]
        assert every[0] in near
        assert gain_over_ten(every[0].mechanism) == min(gain_over_ten(each.mechanism) for each in near)


def test_the_page_has_the_choices() -> None:
    """docs/poisoning.md, with the gain of ten and the variance against the least."""
    page = (ROOT / "docs" / "poisoning.md").read_text(encoding="utf-8")
    table = page.split("### A list that is to be robust")[1].split("## What is flagged")[0]
    lines = re.findall(r"^\| ([\d,]+) \| (.*) \|$", table, re.MULTILINE)
    assert [int(size.replace(",", "")) for size, _ in lines] == list(SIZES)
    for size, cells in ((int(size.replace(",", "")), cells.split(" | ")) for size, cells in lines):
        for epsilon, cell, names in zip(EPSILONS, cells, CHOSEN[size].split(), strict=True):
            told = re.findall(r"([a-z ]+) \(([\d.]+), ([\d.]+)\)", cell)
            own = [choose(Epsilon.of(epsilon), size, SORTS[name]) for name in dict.fromkeys(names)]
            least = min(each.mechanism.variance for each in choices(Epsilon.of(epsilon), size))
            assert [name.strip().replace(" ", "_") for name, *_ in told] == [each.name for each in own]
            for (_, ten, variance), each in zip(told, own, strict=True):
                assert float(ten) == pytest.approx(float(gain_over_ten(each)), rel=0.005)
                assert float(variance) == pytest.approx(float(each.variance / least), abs=0.005)


def test_ten_answers_are_drawn_by_a_hash() -> None:
    """The same everywhere: they are named in no file, and every device has to draw them."""
    assert drawn(48, 0) == [8, 16, 41, 11, 15, 20, 29, 31, 17, 36]
    assert drawn(1024, 9) == [465, 398, 796, 301, 947, 455, 217, 1023, 447, 345]
    assert all(len(set(drawn(11, time))) == 10 for time in range(10))


@pytest.mark.parametrize(("order", "dimensions"), [(2, 3), (2, 5), (3, 3), (3, 4), (5, 3), (7, 3)])
def test_what_one_report_carries_is_found_among_all_reports(order: int, dimensions: int) -> None:
    """Of answers that are drawn as many lie in one hyperplane as the best of all payloads supports."""
    points = sum(order**degree for degree in range(dimensions))
    geometry = ProjectiveGeometryResponse(Epsilon.of(1), points, order, dimensions)
    rng = Random(order * dimensions)
    for count in (1, dimensions - 1, dimensions, 7, 10):
        for _ in range(5):
            answers = rng.sample(range(points), min(count, points))
            most = max(
                sum(geometry._product(answer, payload) % order == 0 for answer in answers)
                for payload in geometry.payloads()
            )
            assert geometry.carried(answers) == most


def test_others_carry_as_many_as_they_support() -> None:
    """Whichever: randomized response one, a subset as many as it has."""
    for first, second in combinations([0, 3, 5, 9], 2):
        assert choose(Epsilon.of(1), 16, "randomized_response").carried([first, second]) == 1
        assert choose(Epsilon.of(1), 16, "subset_selection").carried([first, second]) == 2
    response = choose(Epsilon.of(1), 16, "randomized_response")
    assert float(gain_over(response, range(10))) == pytest.approx(1 + 6 / (math.e - 1), rel=1e-9)


def test_what_is_not_robust_is_what_it_was() -> None:
    """`robust = false` says nothing; a list that would be asked alike has the same digest, for the same reports."""

    def digest(size: int, more: str) -> int:
        values = [f"v{number}" for number in range(size)]
        return Collection.loads(head("c", 2.0) + metric("one", "category", "d", values=values) + more).digest

    assert digest(48, "") == digest(48, "robust = false\n") != digest(48, "robust = true\n")
    assert digest(200, "") == digest(200, "robust = true\n")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('robust = true\nmechanism = "subset_selection"', "metrics.one.robust: chooses the mechanism: leave out"),
        ("robust = true\nmemoize = true", "robust goes with fresh answers: leave out robust, or memoize"),
        ('robust = "yes"', "metrics.one.robust: "),
    ],
)
def test_what_does_not_go_with_it(more: str, said: str) -> None:
    """An error in a line, with what to leave out."""
    with pytest.raises(CollectionError, match=re.escape(said)):
        listed(48, more)


def test_what_is_repeated_as_it_is_may_be_robust() -> None:
    """It is the fresh answer's channel."""
    found = listed(48, 'robust = true\nmemoize = true\ninstantaneous_epsilon = "linkable"')
    assert found.mechanism == "projective_geometry"
