"""What models are worth that are learned in rounds: the figures of docs/learning.md are those of the tool."""

from __future__ import annotations

import numpy as np
import pytest
from tools.rounds import EPSILONS, FLEETS, PAGE, PICTURE, accuracies, picture

TEXT = PAGE.read_text(encoding="utf-8")


def told(name: str, epsilon: str, devices: int) -> float:
    """What the page says: of this fleet."""
    (row,) = (
        row
        for row in TEXT.splitlines()
        if row.startswith(f"| {epsilon} |") and row.count("|") == len(FLEETS[name]) + 3
    )
    return float(row.split("|")[2 + FLEETS[name].index(devices)].split("%")[0])


def test_the_picture_is_that_of_the_tables() -> None:
    """`python -m tools.rounds --write` draws it anew."""
    assert picture(TEXT) == PICTURE.read_text(encoding="utf-8")


@pytest.mark.deep
def test_figures_are_those_of_the_tool() -> None:
    """Of the smallest fleets: the same seeds, and half a point for another machine's last digits."""
    mean = 100 * float(np.mean(accuracies("breast cancer", "4", FLEETS["breast cancer"][0])))
    assert told("breast cancer", "4", FLEETS["breast cancer"][0]) == pytest.approx(mean, abs=0.6)


def test_a_fleet_is_named_that_is_within_two_points() -> None:
    """At epsilon 4 a round, which is all that a device spends: of the model without privacy."""
    (row,) = (
        row
        for row in TEXT.splitlines()
        if row.startswith("| 4 |") and row.count("|") == len(FLEETS["breast cancer"]) + 3
    )
    plain = float(row.split("|")[-2].split("%")[0])
    assert "4" in EPSILONS["breast cancer"]
    assert told("breast cancer", "4", 30_000) >= plain - 2
