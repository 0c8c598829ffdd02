"""What it costs that nobody has all data: the figures are those of the tool, the picture that of the figures."""

from __future__ import annotations

import pytest
from tools.learning_price import EPSILONS, FLEETS, PAGE, PICTURE, WAYS, Way, enough, lines, measured, table
from tools.price_plot import drawn

TEXT = PAGE.read_text(encoding="utf-8")
FOUND = lines(TEXT)
ENOUGH = [
    ("breast cancer", "naive Bayes", 3_000),
    ("digits", "naive Bayes", 3_000_000),
    ("breast cancer", "logistic regression", 100_000),
]


def test_the_page_has_every_way() -> None:
    """At each epsilon, or once where there is no noise."""
    wanted = [(*way[:3], epsilon) for way in WAYS for epsilon in (EPSILONS if way.noise else ("",))]
    assert [line[:4] for line in FOUND] == wanted
    assert enough(FOUND) in TEXT


def test_the_picture_is_that_of_the_table() -> None:
    """`python -m tools.learning_price --write` draws it anew."""
    assert drawn(FOUND, FLEETS) == PICTURE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=[pytest.mark.deep] * (way.noise == "each device"), id=f"{way.model}, {way.noise}")
        for way in WAYS
        if way.data == "breast cancer"
    ],
)
def test_figures_are_those_of_the_tool(way: Way) -> None:
    """One of each way: the same seeds, and half a point for another machine's last digits."""
    (found,) = measured(way, FLEETS[3:4], EPSILONS[2:3])
    (told,) = [line.told[3] for line in FOUND if line[:3] == way[:3] and line.epsilon in {"", EPSILONS[2]}]
    assert told == pytest.approx(found.told[0], abs=0.006)


@pytest.mark.parametrize(("data", "model", "devices"), ENOUGH)
def test_at_epsilon_2_local_reports_are_within_two_points(data: str, model: str, devices: int) -> None:
    """Of the same model without privacy, from as many devices on as the page says."""
    plain, local = (
        next(line for line in FOUND if line[:3] == (data, model, noise) and line.epsilon == epsilon)
        for noise, epsilon in (("", ""), ("each device", "2"))
    )
    for many, told, right in zip(FLEETS, local.told, plain.told, strict=True):
        if many >= devices and told is not None:
            assert right is not None
            assert told >= right - 0.02 - 1e-9
    assert f"{devices:,}" in TEXT


def test_what_was_not_measured_is_said() -> None:
    """A way that is tried with few devices has no figure for more; and where none is enough, that is said."""
    few = WAYS[2]._replace(runs=1, most=300)
    (found,) = measured(few, FLEETS[:2], EPSILONS[:1])
    assert found.told[1] is None
    whole = found._replace(told=(0.5, *[None] * (len(FLEETS) - 1)))
    plain = whole._replace(noise="", epsilon="", told=(0.9,) * len(FLEETS))
    assert "more than 300" in enough([plain, whole])
    page = f"<!-- price: tools/learning_price.py -->\n\n{table([plain, whole])}\n\n<!-- end of price -->"
    assert lines(page) == [plain, whole]
