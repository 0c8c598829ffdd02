"""README's picture that moves: what each device sends, and what becomes known of all of them.

python -m tools.moving_picture --write    draws docs/images/moving.svg anew

words:
  frame   a moment of the picture: so many devices have reported
  dot     a device's report, as the aggregator sees it: one colour for yes, one for no

Devices, noise and intervals are real: a seeded fleet, randomised by the mechanism's twin, estimated by the
aggregator's own code. No script moves it, and it stands still at its last frame for those who ask for less motion.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deniable import Collection
from deniable_aggregator.answers import RowId, answer
from deniable_aggregator.planning.twins import draw, inputs

__all__ = ["FILE", "Frame", "drawn", "frames"]

FILE = Path(__file__).resolve().parents[1] / "docs" / "images" / "moving.svg"
DEVICES = (100, 300, 1_000, 3_000, 10_000)
"""So many have reported in each frame."""
SHARE = 0.62
"""Of the fleet has the dark theme on."""
SEED = 7
_COLLECTION = """
[collection]
name = "picture"
owner = "telemetry@example.org"
epoch = "1d"

[budget]
epoch = 1.0

[metrics.dark_mode]
kind = "boolean"
description = "The dark theme is on"
epsilon = 1.0
"""
_ACROSS, _DOWN = 20, 10
_WIDE, _HIGH = 720, 300
_ALIKE = 'role="img" font-family="sans-serif" font-size="15"'
_LEFT, _TOP, _STEP = 24, 76, 16
_AXIS_LEFT, _AXIS_WIDE, _AXIS_Y = 400, 290, 208
_SECONDS = 2.4
"""That a frame stays."""


class Frame(NamedTuple):
    """A moment."""

    devices: int
    """Have reported."""
    value: float
    """The estimate."""
    low: float
    """The interval's lower end."""
    high: float
    """Its upper end."""


def frames(seed: int = SEED) -> tuple[list[bool], list[Frame]]:
    """The reports of the first devices, and every frame."""
    metric = Collection.loads(_COLLECTION).metrics["dark_mode"]
    (column,) = metric.columns
    generator = np.random.default_rng(seed)
    truth = generator.random(DEVICES[-1]) < SHARE
    rows = inputs(column.mechanism, [int(own) for own in truth])
    reports = np.asarray(draw(column.mechanism, rows, generator)).ravel().astype(bool)
    told = []
    for devices in DEVICES:
        yes = int(reports[:devices].sum())
        found = answer(metric, [np.array([devices - yes, yes], dtype=np.int64)])
        row = found.row(RowId("shares", "yes"))
        told.append(Frame(devices, row.value, row.low, row.high))
    return reports[: _ACROSS * _DOWN].tolist(), told


def drawn(reports: list[bool], told: list[Frame]) -> str:
    """The picture as SVG."""
    last = told[-1]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" {_ALIKE}>',
        "<title>What devices send is noise; what is known of all of them gets sharp</title>",
        f"<desc>Dots in two colours, without a pattern: the reports of {len(reports)} devices.",
        f"An interval narrows around the truth while {told[0].devices} to {last.devices:,} devices report.</desc>",
        f"<style>{_style(len(told))}</style>",
        f'<rect class="ground" width="{_WIDE}" height="{_HIGH}" rx="10"/>',
        _text(_LEFT, 34, "What devices send: nobody can tell", "strong"),
        _text(_LEFT, 54, "whether a dot is true or a lie", "quiet"),
        _text(_AXIS_LEFT, 34, "What is known of all of them", "strong"),
        _text(_AXIS_LEFT, 54, "share with the dark theme on", "quiet"),
        *_dots(reports),
        *_axis(),
    ]
    for number, frame in enumerate(told):
        parts += [f'<g class="frame f{number}">', *_interval(frame), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _style(count: int) -> str:
    """Colours by the reader's scheme; frames take turns, and dots come with them."""
    turn = 100 / count
    rules = [
        ".ground{fill:#fff}.strong{fill:#111;font-weight:600}.quiet{fill:#555}.yes{fill:#0072b2}.no{fill:#d9b38c}",
        ".line{stroke:#888}.truth{stroke:#111;stroke-width:2}.value{fill:#0072b2;font-size:30px;font-weight:700}",
        ".interval{stroke:#0072b2;stroke-width:10;stroke-linecap:round}.point{fill:#fff;stroke:#0072b2;stroke-width:3}",
        "@media(prefers-color-scheme:dark){.ground{fill:#16181c}.strong{fill:#f2f2f2}.quiet{fill:#b5b5b5}",
        ".yes,.value{fill:#56b4e9}.no{fill:#7a5c3e}.truth{stroke:#f2f2f2}.interval{stroke:#56b4e9}",
        ".point{fill:#16181c;stroke:#56b4e9}}",
        f"@keyframes turn{{0%,{turn - 0.01:.2f}%{{opacity:1}}{turn:.2f}%,100%{{opacity:0}}}}",
        f".frame{{opacity:0;animation:turn {count * _SECONDS:g}s step-end infinite}}",
        *(f".f{number}{{animation-delay:{number * _SECONDS:g}s}}" for number in range(count)),
        f"@media(prefers-reduced-motion:reduce){{.frame{{animation:none}}.f{count - 1}{{opacity:1}}}}",
    ]
    return "".join(rules)


def _dots(reports: list[bool]) -> Iterator[str]:
    for number, yes in enumerate(reports):
        x, y = _LEFT + 8 + number % _ACROSS * _STEP, _TOP + 8 + number // _ACROSS * _STEP
        yield f'<circle class="{"yes" if yes else "no"}" cx="{x}" cy="{y}" r="6"/>'


def _axis() -> Iterator[str]:
    yield f'<path class="line" d="M{_AXIS_LEFT} {_AXIS_Y + 24}h{_AXIS_WIDE}"/>'
    for part in (0, 0.25, 0.5, 0.75, 1):
        yield _text(_at(part), _AXIS_Y + 46, f"{part:.0%}", "quiet", "middle")
    yield f'<path class="truth" d="M{_at(SHARE):.1f} {_AXIS_Y - 24}v48"/>'
    yield _text(_at(SHARE), _AXIS_Y - 32, "the truth", "quiet", "middle")
    yield _text(_LEFT, _HIGH - 22, "epsilon 1: about one in four is a lie", "quiet")
    yield _text(_AXIS_LEFT, _HIGH - 22, "95% of such intervals hold the truth", "quiet")


def _interval(frame: Frame) -> Iterator[str]:
    half = (frame.high - frame.low) / 2
    yield _text(_AXIS_LEFT, 106, f"{frame.value:.0%} ± {100 * half:.{1 if half < 0.1 else 0}f}", "value")
    yield _text(_AXIS_LEFT, 136, f"from {frame.devices:,} devices", "quiet")
    yield f'<path class="interval" d="M{_at(frame.low):.1f} {_AXIS_Y}H{_at(frame.high):.1f}"/>'
    yield f'<circle class="point" cx="{_at(frame.value):.1f}" cy="{_AXIS_Y}" r="7"/>'


def _at(part: float) -> float:
    return _AXIS_LEFT + part * _AXIS_WIDE


def _text(x: float, y: float, words: str, style: str, anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


if __name__ == "__main__":
    made = drawn(*frames())
    if "--write" in sys.argv:
        FILE.write_text(made, encoding="utf-8")
    else:
        print(made)
