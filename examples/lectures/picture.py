"""A picture whose every pixel is flipped nearly every second time, and which yet remains: through a real aggregator.

Each device has the same picture, flips each of its pixels with 49%, and reports it over gRPC to an aggregator,
which knows the chance and takes it out again. One report is noise. The mean of all is all but grey. The answer is
the picture, as the errors of a pixel become small with the root of the number of devices.

Notes have such a picture with 51%. That many flips show it inverted, with the same certainty, unless they are taken
out by a formula whose denominator, 1 - 2 times the chance, is below 0. A pixel's epsilon is ln(0.51/0.49) = 0.04,
and those of all pixels add up. Pixels that are drawn anew with 51%, and not flipped, are flipped with 25.5%:
epsilon 1.07.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import analyst_of
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.answers import Estimate
from deniable_aggregator.planning import fleet
from deniable_aggregator.planning.simulate import randomized
from deniable_aggregator.serving.server import Server, Settings, layout_of
from deniable_aggregator.telling.terminal import table

from ._drawing import pixels
from ._running import run

__all__ = ["PICTURE", "SHOWS", "Shown", "bit_epsilon", "collection", "error", "main", "shown", "undone"]

SHOWS: tuple[str, ...] = ("A10", "E9")
PICTURE = (
    "....................",
    "....############....",
    "...#............#...",
    "..#...##....##...#..",
    "..#...##....##...#..",
    "..#..............#..",
    "..#...#......#...#..",
    "..#....######....#..",
    "...#............#...",
    "....############....",
)
"""What all devices have."""
FLIPPED = 0.49
DEVICES = 12_000
_SEED = 4


class Shown(NamedTuple):
    """What comes of the picture, row by row."""

    one: NDArray[np.float64]
    """The report of one device."""
    mean: NDArray[np.float64]
    """The mean of all reports."""
    answer: NDArray[np.float64]
    """What the aggregator answers."""


def bit_epsilon(flipped: float) -> float:
    """What a pixel costs that is flipped with this chance."""
    return abs(math.log((1 - flipped) / flipped))


def undone(mean: NDArray[np.float64], flipped: float) -> NDArray[np.float64]:
    """The picture behind the mean of pixels that are flipped with any chance but a half."""
    return (mean - flipped) / (1 - 2 * flipped)


def error(flipped: float, devices: int) -> float:
    """The deviation of a pixel that is undone, of devices that all have the same."""
    return math.sqrt(flipped * (1 - flipped) / devices) / abs(1 - 2 * flipped)


def collection() -> Collection:
    """A flag for each pixel, which costs the logarithm of 0.51 to 0.49."""
    names = ", ".join(f'"p{number}"' for number in range(len(PICTURE) * len(PICTURE[0])))
    return Collection.loads(f"""
[collection]
name = "picture"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 9.0
[metrics.pixels]
kind = "flags"
description = "Which pixels of the picture are black"
flags = [{names}]
per_flag_epsilon = "ln 51/49"
mechanism = "bitwise_response"
""")


def black() -> list[str]:
    """The pixels that are set, as a device would record them."""
    every = "".join(PICTURE)
    return [f"p{number}" for number, pixel in enumerate(every) if pixel == "#"]


@lru_cache(maxsize=4)
def shown(devices: int = DEVICES) -> Shown:
    """So many devices report to an aggregator on a store of its own, and it is asked."""
    asked = collection()
    generator = np.random.default_rng(_SEED)
    estimate = asyncio.run(_answered(asked, devices, generator))
    shape = len(PICTURE), len(PICTURE[0])
    answer = np.array([row.value for row in estimate.rows]).reshape(shape)
    (sent,) = randomized(asked.metrics["pixels"], [black()], np.random.default_rng(_SEED + 1))
    one = np.unpackbits(sent.payloads[0].view(np.uint8), bitorder="little")[: answer.size].reshape(shape)
    return Shown(one.astype(np.float64), answer * (1 - 2 * FLIPPED) + FLIPPED, answer)


async def _answered(asked: Collection, devices: int, generator: np.random.Generator) -> Estimate:
    """The answer of a real aggregator, with a real store, to which devices reported over gRPC."""
    analysts, epoch = analyst_of(Catalog([asked])), asked.epoch_at(time.time())
    with tempfile.TemporaryDirectory(prefix="deniable-picture-") as directory:
        settings = Settings(listen="127.0.0.1:0", data_dir=Path(directory), simulated=True)
        server = Server(settings, [layout_of(asked)], [], [])
        await server.start()
        try:
            values = {"pixels": [black()] * devices}
            await fleet.forward(asked, values, f"127.0.0.1:{server.port}", epoch, generator, _silent)
            (found,) = await analysts(server.store).answers(asked.name, Query(last_epoch=epoch), "pixels")
            return found.estimate
        finally:
            await server.drain()


def _silent(done: int) -> None:
    """Nobody waits for it."""
    del done


def told() -> str:
    """The picture, before and after, and what it costs."""
    found = shown()
    right = int(((found.answer > 0.5) == _plain()).sum())
    costs = [
        (
            what,
            f"{flipped:.3f}",
            f"{bit_epsilon(flipped):.4f}",
            f"{flipped * (1 - flipped) / (1 - 2 * flipped) ** 2:.2f}/n",
        )
        for what, flipped in (("flipped with 49%", 0.49), ("flipped with 51%", 0.51), ("drawn anew with 51%", 0.255))
    ]
    return "\n".join(
        [
            *_beside(("what each device has", _plain()), ("what the aggregator answers", found.answer > 0.5)),
            "",
            f"{DEVICES:,} devices; {right} of {found.answer.size} pixels are right.",
            f"The deviation of each is {error(FLIPPED, DEVICES):.2f}.",
            f"The mean of all reports lies between {found.mean.min():.3f} and {found.mean.max():.3f}.",
            "",
            table(("a pixel", "differs", "epsilon", "variance"), costs, (False, True, True, True)),
            "",
            f"All {found.answer.size} pixels of a device: epsilon {found.answer.size * bit_epsilon(FLIPPED):.3f}.",
        ]
    )  # fmt: skip


def _plain() -> NDArray[np.bool_]:
    return np.array([[pixel == "#" for pixel in row] for row in PICTURE])


def _beside(*panels: tuple[str, NDArray[np.bool_]]) -> list[str]:
    """Pictures in characters, side by side."""
    wide = 2 * len(PICTURE[0]) + 4
    lines: list[Sequence[str]] = [[name for name, _ in panels]]
    lines += [
        ["".join("██" if pixel else "· " for pixel in row[down]) for _, row in panels] for down in range(len(PICTURE))
    ]
    return ["".join(cell.ljust(wide) for cell in line).rstrip() for line in lines]


def drawn() -> str:
    """Four pictures: what each has, what one sends, the mean as it is, and the answer."""
    found = shown()
    panels = [
        ("what each device has", _plain().astype(float)),
        ("what one device sends", found.one),
        (f"the mean of {DEVICES:,}", found.mean),
        ("the answer", found.answer),
    ]
    return pixels("A picture of which every pixel is flipped", [(name, rows.tolist()) for name, rows in panels], 9)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
