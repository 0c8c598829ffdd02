"""How far one fake moves several answers together: as the papers have it, and as it comes out when fakes send it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from deniable import Collection
from deniable.epsilon import Epsilon
from deniable.mechanisms import TEN, Supporting, choose, fitting, gain_over, gain_over_ten
from deniable.payload import Bitmap
from deniable_aggregator.estimators import frequencies
from deniable_aggregator.planning.check import reasons
from deniable_aggregator.planning.leverage import gain, gain_of_ten
from deniable_aggregator.planning.plan import plan
from support.collection_files import head, metric
from support.commands import ROOT, told

KNOWN = {"randomized_response", "subset_selection", "projective_geometry"}
"""Those of which figures stand here; what holds for all is asked of all that fit."""
FITTING = [
    (name, size, epsilon, count)
    for size, epsilon, count in ((64, 2, 20), (48, 1, 10), (200, 1, 10))
    for name in fitting(size)
]
SAID = r"([\d.]+) by (\w+)"


def sent(mechanism: Supporting, targets: list[int]) -> float:
    """What 1,000 fakes among 100,000 reports add to the shares of some answers, in liars: the report that adds most
    of all that can be sent, or a subset that holds as many of them as fit."""
    generator = np.random.default_rng(7)
    shape = mechanism.shape.counters
    honest = (
        generator.multinomial(99_000, np.full(shape, 1 / shape))
        if not isinstance(mechanism.shape, Bitmap)
        else np.append(99_000, np.full(shape - 1, round(99_000 * float(mechanism.q))))
    )
    best = -math.inf
    for payload in reports(mechanism, targets):
        fakes = np.zeros(shape, np.int64)
        fakes[payload] = 1000
        before, after = (frequencies(mechanism, own).values[targets].sum() for own in (honest, honest + fakes))
        best = max(best, (after * 100_000 - before * 99_000) / 1000)
    return float(best)


def reports(mechanism: Supporting, targets: list[int]) -> list[list[int]]:
    """The counters that each payload adds to."""
    if not isinstance(mechanism.shape, Bitmap):
        return [[payload] for payload in mechanism.payloads()]
    others = [each for each in range(mechanism.inputs) if each not in targets]
    chosen = (targets + others)[: mechanism.supported]
    return [[0, *(1 + each for each in chosen)]]


@pytest.mark.parametrize(("name", "size", "epsilon", "count"), FITTING)
def test_what_is_stated_is_what_fakes_do(name: str, size: int, epsilon: int, count: int) -> None:
    """To a part in a hundred, of answers that are drawn."""
    mechanism = choose(Epsilon.of(epsilon), size, name)
    targets = Random(size).sample(range(size), count)
    assert sent(mechanism, targets) == pytest.approx(float(gain_over(mechanism, targets)), rel=0.01)


def test_it_is_what_the_papers_say() -> None:
    """Of 1,024 values at epsilon 1 and ten answers, and of 64 at epsilon 2 and twenty."""
    for size, epsilon, count in ((1024, Epsilon.of(1), 10), (64, Epsilon.of(2), 20)):
        answers = range(count)
        stated = 1 + (size - count) / (math.exp(float(epsilon)) - 1)
        assert float(gain_over(choose(epsilon, size, "randomized_response"), answers)) == pytest.approx(
            stated, rel=1e-6
        )
        subset = choose(epsilon, size, "subset_selection")
        p, q, k = float(subset.p), float(subset.q), subset.supported
        stated = min(count, k) * (1 - q) / (p - q) - max(count - k, 0) * q / (p - q)
        assert float(gain_over(subset, answers)) == pytest.approx(stated, rel=1e-6)
    every = {name: float(gain_over_ten(choose(Epsilon.of(1), 1024, name))) for name in KNOWN}
    assert every["randomized_response"] == pytest.approx(591, rel=0.01)
    assert every["subset_selection"] == pytest.approx(31.6, rel=0.01)
    assert every["projective_geometry"] == pytest.approx(20.4, rel=0.05)


@pytest.mark.parametrize("size", [11, 48, 1024])
def test_of_ten_a_report_carries_one_at_least_and_no_more_than_it_supports(size: int) -> None:
    """Whatever asks."""
    for mechanism in (choose(Epsilon.of(1), size, name) for name in fitting(size)):
        least, most = (
            (carried - TEN * mechanism.q) / (mechanism.p - mechanism.q)
            for carried in (1, min(TEN, mechanism.supported))
        )
        assert least <= gain_over_ten(mechanism) <= most


def test_check_says_it_of_long_lists() -> None:
    """Beside the variances of what else could ask."""
    values = str([f"v{number}" for number in range(1000)]).replace("'", '"')
    table = f'[metrics.long]\nkind = "category"\nvalues = {values}\nepsilon = 1\ndescription = "d"\n'
    (said,) = reasons(Collection.loads(head("c", 2.0) + table))
    assert "one fake moves ten answers together as far as so many liars: " in said
    assert "57" in said.rpartition("by randomized_response")[0]
    gains = re.findall(SAID, said)
    assert sorted(name for _, name in gains) == sorted(fitting(1000))
    for number, name in gains:
        assert float(number) == pytest.approx(float(gain_over_ten(choose(Epsilon.of(1), 1000, name))), rel=0.005)


def test_a_plan_says_it_of_what_is_asked_and_of_what_others_would_do() -> None:
    """Of a list of more than ten, and among a part of the devices of as many as each stands for; of nothing else."""
    values = [f"v{number}" for number in range(48)]
    text = metric("long", "category", "d", values=values) + metric("dark", "boolean", "d")
    collection = Collection.loads(head("c", 4.0) + text)
    dark, long = plan(collection, 10_000, 0.01, {}).questions
    asked = collection.metrics["long"].columns[0].mechanism
    every = fitting(48).keys() - {asked.name}
    assert {"randomized_response", "projective_geometry"} <= every
    assert isinstance(asked, Supporting)
    assert long.gain_of_ten == gain_of_ten(collection.metrics["long"]) == float(gain_over_ten(asked))
    assert {other.mechanism for other in long.others} == every
    for other in long.others:
        assert other.gain_of_ten == float(gain_over_ten(choose(Epsilon.of(1), 48, other.mechanism)))
    assert dark.gain_of_ten is None
    short, ten = (
        Collection.loads(head("c", 4.0) + metric("one", "category", "d", values=values[:size])).metrics["one"]
        for size in (TEN + 1, TEN)
    )
    assert (gain_of_ten(short) is None, gain_of_ten(ten)) == (False, None)
    part = replace(collection.metrics["long"], sample=Fraction(1, 4))
    assert gain_of_ten(part) == pytest.approx(4 * long.gain_of_ten)
    assert gain(part).row == pytest.approx(4 * long.gain)


def test_a_plan_and_a_check_have_it_in_words(tmp_path: Path) -> None:
    """A column of the plan, also in JSON; a robust list is told as one."""
    file, values = tmp_path / "c.toml", [f"v{number}" for number in range(48)]
    file.write_text(head("c", 1.0) + metric("long", "category", "d", values=values) + "robust = true\n")
    shown = told("plan", file, "--devices", "100000").stdout
    assert re.search(r"one fake +over ten", shown)
    assert re.search(r"^long +projective_geometry .* 20\.5 ", shown, re.MULTILINE)
    found = json.loads(told("plan", file, "--devices", "100000", "--json").stdout)["metrics"][0]
    assert found["one_fake_over_ten"] == pytest.approx(20.5, rel=0.005)
    others = {each["mechanism"]: each["one_fake_over_ten"] for each in found["others"]}
    assert {name: round(gain) for name, gain in others.items() if name in KNOWN} == {
        "subset_selection": 31,
        "randomized_response": 23,
    }
    assert others.keys() | {"projective_geometry"} == fitting(48).keys()
    asked = {name: float(gain_over_ten(choose(Epsilon.of(1), 48, name))) for name in fitting(48)}
    assert others == {name: pytest.approx(asked[name], rel=0.005) for name in others}
    (said,) = re.findall(
        r"so many liars: (.*) \(robust: the least where variance allows it\)", told("check", file).stdout
    )
    gains = [(name, number) for number, name in re.findall(SAID, said)]
    assert [each for each in gains if each[0] in KNOWN] == [
        ("projective_geometry", "20.5"),
        ("subset_selection", "31"),
        ("randomized_response", "23.1"),
    ]
    assert said == ", ".join(f"{gain} by {name}" for name, gain in gains)
    assert {name: float(gain) for name, gain in gains} == pytest.approx(asked, rel=0.005)


def test_the_page_has_these_figures() -> None:
    """docs/poisoning.md, to the digits that it shows: the gain and, in brackets, the variance of each in its head."""
    lines = (ROOT / "docs" / "poisoning.md").read_text(encoding="utf-8").splitlines()
    (head,) = (line for line in lines if line.startswith("| ten answers |"))
    names = [cell.strip().replace(" ", "_") for cell in head.split("|")[2:-1]]
    assert set(names) >= KNOWN
    found = [re.findall(r"[\d.,]+", line) for line in lines if re.match(r"\| of [\d,]+, epsilon", line)]
    assert len(found) == 4
    for size, epsilon, *numbers in ([cell.strip(",") for cell in row] for row in found):
        asked = [choose(Epsilon.of(int(epsilon)), int(size.replace(",", "")), name) for name in names]
        stated = [number for own in asked for number in (float(gain_over_ten(own)), float(own.variance))]
        assert [float(number) for number in numbers] == pytest.approx(stated, rel=0.01)
