"""What it costs that nobody has all data: the figures are those of the tool, the picture that of the figures."""

from __future__ import annotations

import pytest
from tools.learning_price import EPSILONS, FLEETS, PAGE, PICTURE, WAYS, Way, enough, lines, measured
from tools.price_plot import drawn

TEXT = PAGE.read_text(encoding="utf-8")
FOUND = lines(TEXT)


def test_the_page_has_every_way() -> None:
    """At each epsilon, or once where there is no noise."""
    wanted = [(*way[:3], epsilon) for way in WAYS for epsilon in (EPSILONS if way.noise else ("",))]
    assert [line[:4] for line in FOUND] == wanted
    assert enough(FOUND) in TEXT


def test_the_picture_is_that_of_the_table() -> None:
    """`python -m tools.learning_price --write` draws it anew."""
    assert drawn(FOUND, FLEETS) == PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize("way", [way for way in WAYS if way.data == "breast cancer" and way.noise != "each device"],
                         ids=lambda way: way.noise or way.model)  # fmt: skip
def test_figures_are_those_of_the_tool(way: Way) -> None:
    """One of each way: the same seeds, and half a point for another machine's last digits."""
    (found,) = measured(way._replace(runs=way.runs), FLEETS[3:4], EPSILONS[2:3])
    (told,) = [line.told[3] for line in FOUND if line[:3] == way[:3] and line.epsilon in {"", EPSILONS[2]}]
    assert told == pytest.approx(found.told[0], abs=0.006)
