"""The tables of docs/learning.md: what models are worth that are learned in rounds. It takes some minutes.

python -m tools.rounds             print them
python -m tools.rounds --write     and replace the page's
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from tools.page_parts import Part
from tools.round_models import MANNERS, Learned, learned, plainly, split, told
from tools.round_plot import Point, drawn

__all__ = ["EPSILONS", "FLEETS", "PAGE", "PICTURE", "accuracies", "picture", "tables"]

_DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = _DOCS / "learning.md", _DOCS / "images" / "learning.svg"
_PART = Part("<!-- tools/rounds.py -->", "<!-- end of tools/rounds.py -->")
EPSILONS = {"breast cancer": ("1", "2", "4")}
FLEETS = {"breast cancer": (3_000, 10_000, 30_000, 100_000)}
SEEDS = {"breast cancer": range(5)}
_SHOWN = ("breast cancer", "4", 30_000)
"""Whose rounds are shown."""


@lru_cache(maxsize=256)
def one(name: str, epsilon: str, devices: int, seed: int) -> Learned:
    """What a fleet has learned."""
    return learned(split(name, seed), MANNERS[name], epsilon, devices, seed)


def accuracies(name: str, epsilon: str, devices: int) -> list[float]:
    """Of each fleet, the part of others' rows that its model tells."""
    return [told(split(name, seed), one(name, epsilon, devices, seed).model) for seed in SEEDS[name]]


def tables() -> str:
    """All of them."""
    return "\n".join([*_accuracy("breast cancer"), "", *_rounds()])


def _accuracy(name: str) -> Iterator[str]:
    yield f"| {name}: epsilon | {' | '.join(f'{devices:,} devices' for devices in FLEETS[name])} | without privacy |"
    yield "|---|" + "---|" * (len(FLEETS[name]) + 1)
    for epsilon in EPSILONS[name]:
        cells = [_shares(accuracies(name, epsilon, devices)) for devices in FLEETS[name]]
        plain = [told(rows, plainly(rows)) for rows in (split(name, seed) for seed in SEEDS[name])]
        yield f"| {epsilon} | {' | '.join(cells)} | {_shares(plain)} |"
        yield f"| {epsilon}, ended by itself | {' | '.join(_ended(name, epsilon, own) for own in FLEETS[name])} | |"


def _ended(name: str, epsilon: str, devices: int) -> str:
    """After how many rounds a course ends that may, and what its model tells then."""
    found = [(split(name, seed), one(name, epsilon, devices, seed).ended) for seed in SEEDS[name]]
    rounds = float(np.mean([len(each.course.steps) for _, each in found]))
    return f"{100 * float(np.mean([told(rows, each.model) for rows, each in found])):.1f}% after {rounds:.1f}"


def _shares(found: list[float]) -> str:
    return f"{100 * float(np.mean(found)):.1f}% ± {100 * float(np.std(found, ddof=1)):.1f}"


def _rounds() -> Iterator[str]:
    name, epsilon, devices = _SHOWN
    yield f"| {_about()}: round | devices | step | noise | told right | from | to |"
    yield "|---|---|---|---|---|---|---|"
    fleets = [(split(name, seed), one(name, epsilon, devices, seed)) for seed in SEEDS[name]]
    for number in range(MANNERS[name].rounds):
        steps = [found.course.steps[number] for _, found in fleets]
        right = [told(rows, found.course.history[number + 1].reshape(found.shape)) for rows, found in fleets]
        numbers = [
            f"{np.mean([step.length for step in steps]):.3f}",
            f"{np.mean([step.noise for step in steps]):.3f}",
        ]
        shares = [f"{100 * share:.1f}%" for share in (float(np.mean(right)), min(right), max(right))]
        yield f"| {number + 1} | {steps[0].reports:,} | {' | '.join([*numbers, *shares])} |"


def picture(page: str) -> str:
    """The training curve that the page's tables have."""
    name, epsilon, _ = _SHOWN
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    start = [row[:1] for row in rows].index([f"{name}: epsilon"])
    plain = next(row[-1] for row in rows[start:] if row[:1] == [epsilon])
    curve = [row[:1] for row in rows].index([f"{_about()}: round"]) + 2
    points = [Point(*map(_share, row[-3:])) for row in rows[curve : curve + MANNERS[name].rounds]]
    return drawn(points, _share(plain), _about())


def _share(cell: str) -> float:
    return float(cell.partition("%")[0]) / 100


def _about() -> str:
    name, epsilon, devices = _SHOWN
    return f"{name}, epsilon {epsilon}, {devices:,} devices"


if __name__ == "__main__":
    found = tables()
    print(found)
    if "--write" in sys.argv[1:]:
        PICTURE.write_text(picture(_PART.write(PAGE, found)), encoding="utf-8")
