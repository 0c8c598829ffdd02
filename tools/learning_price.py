"""What it costs that nobody has all data: what local reports teach, beside what somebody learns who has them.

python -m tools.learning_price                   print the tables of docs/price.md: it takes some minutes
python -m tools.learning_price --write           and replace them there, and the picture
python -m tools.learning_price --write counts    measure only the ways with a word in their name, and keep the others

words:
  way    a data set, a model, and who adds the noise, or to what
  told   the part of rows right that nobody has learned from, on average over some splits of the data
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from examples.learning.central import counts, data, descent, objective, output, regression
from tools.page_parts import Part
from tools.price_plot import Line, drawn

from tools import joint_models, round_models

__all__ = ["EPSILONS", "FLEETS", "PAGE", "PICTURE", "WAYS", "Way", "enough", "lines", "measured", "table"]

_DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = _DOCS / "price.md", _DOCS / "images" / "price.svg"
_PART = Part("<!-- price: tools/learning_price.py -->", "<!-- end of price -->")
FLEETS = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
EPSILONS = ("0.5", "1", "2", "4")
_DELTA = 1e-6
_POINTS = 0.02
"""How near to the model without privacy is near enough."""
_HEAD = ("data", "model", "noise", "epsilon")


class Way(NamedTuple):
    """One way to learn."""

    data: str
    """From what."""
    model: str
    """What."""
    noise: str
    """Who adds it, or to what; empty where nobody does."""
    told: Callable[[str, float, int, int], float]
    """The part told right, by the data, epsilon, devices and a seed."""
    runs: int
    """On how many splits of the data it is tried."""
    most: int = FLEETS[-1]
    """By how many devices at most: more would take too long, and teach nothing."""


@cache
def _places(name: str, seed: int) -> joint_models.Data:
    return joint_models.breast_cancer(seed) if name == "breast cancer" else joint_models.digits(seed)


@cache
def _rows(name: str, seed: int) -> data.Split:
    return data.split(name, seed)


def _generator(name: str, epsilon: float, devices: int, seed: int) -> np.random.Generator:
    return np.random.default_rng([crc32(name.encode()), round(1000 * epsilon), devices, seed])


def _bayes(name: str, epsilon: float, devices: int, seed: int) -> float:
    own = _places(name, seed)
    return joint_models.accuracy(own, joint_models.learned(own, f"{epsilon:g}", devices, seed))


def _bayes_of_counts(name: str, epsilon: float, devices: int, seed: int) -> float:
    own, generator = _places(name, seed), _generator(name, epsilon, devices, seed)
    target = own.train[own.target]
    copies = generator.multinomial(devices, np.full(len(target), 1 / len(target)))
    tables = {}
    for feature, values in own.values.items():
        if feature != own.target:
            tables[feature] = np.zeros((len(own.values[own.target]), len(values)))
            np.add.at(tables[feature], (target, own.train[feature]), copies)
    return joint_models.accuracy(own, counts.model(own.target, own.values, tables, epsilon, generator))


def _bayes_plain(name: str, _epsilon: float, _devices: int, seed: int) -> float:
    own = _places(name, seed)
    return joint_models.accuracy(own, joint_models.exactly(own))


_Released = Callable[[regression.Fleet, float, np.random.Generator], regression.Floats]


def _regression(released: _Released) -> Callable[[str, float, int, int], float]:
    def told(name: str, epsilon: float, devices: int, seed: int) -> float:
        own, generator = _rows(name, seed), _generator(name, epsilon, devices, seed)
        weights = released(data.fleet(own.train, devices, generator), epsilon, generator)
        return regression.accuracy(weights, own.vectors, own.classes)

    return told


def _regression_plain(name: str, _epsilon: float, _devices: int, seed: int) -> float:
    own = _rows(name, seed)
    weights = regression.fitted(own.train, _PLAIN, 1e-6)
    return regression.accuracy(weights, own.vectors, own.classes)


_PLAIN = 1e-4
"""The penalty without privacy, and the least of all."""
_TILTED, _MOVED = 0.25, 2.5
"""Penalties, in units that are the same for all fleets: chosen, as the descent, on splits that no figure is of."""
_DESCENT, _FEW = descent.Descent(), 10_000
"""How it descends where devices times epsilon are no more than a few."""


def _output(fleet: regression.Fleet, epsilon: float, generator: np.random.Generator) -> regression.Floats:
    long = np.sqrt(fleet.outputs * fleet.vectors.shape[1])  # of the noise, in standard deviations
    return output.released(fleet, epsilon, _DELTA, max(_PLAIN, _MOVED * long / (fleet.devices * epsilon)), generator)


def _objective(fleet: regression.Fleet, epsilon: float, generator: np.random.Generator) -> regression.Floats:
    long = fleet.outputs * fleet.vectors.shape[1]  # of the noise, in scales
    return objective.released(fleet, epsilon, max(_PLAIN, _TILTED * long / (fleet.devices * epsilon)), generator)


def _descent(fleet: regression.Fleet, epsilon: float, generator: np.random.Generator) -> regression.Floats:
    more = float(np.clip(fleet.devices * epsilon / _FEW, 1.0, 3.0))  # where there is less noise, farther
    how = descent.Descent(steps=round(more * _DESCENT.steps), rate=more * _DESCENT.rate)
    return descent.released(fleet, epsilon, _DELTA, how, generator)


def _rounds(name: str, epsilon: float, devices: int, seed: int) -> float:
    own = _rows(name, seed)
    found = round_models.learned(own, round_models.MANNERS[name], f"{epsilon:g}", devices, seed, by_law=True)
    return round_models.told(own, found.model)


_BAYES, _LOGISTIC = "naive Bayes", "logistic regression"
_RUNS, _MOST = {"breast cancer": 20, "digits": 10}, {"breast cancer": 1_000_000, "digits": 3_000_000}
"""On how many splits: of the digits three times as many rows are told. And by how many devices of their own noise."""
_IN_ROUNDS = {"breast cancer": (20, 300_000), "digits": (5, 100_000)}
"""Both of what is learned in rounds, which takes longest."""
WAYS = tuple(
    Way(name, *rest)
    for name, runs in _RUNS.items()
    for rest in (
        (_BAYES, "", _bayes_plain, runs),
        (_BAYES, "counts", _bayes_of_counts, runs),
        (_BAYES, "each device", _bayes, runs, _MOST[name]),
        (_LOGISTIC, "", _regression_plain, runs),
        (_LOGISTIC, "output", _regression(_output), runs),
        (_LOGISTIC, "objective", _regression(_objective), runs),
        (_LOGISTIC, "descent", _regression(_descent), runs),
        (_LOGISTIC, "each device", _rounds, *_IN_ROUNDS[name]),
    )
)


def measured(way: Way, fleets: Sequence[int] = FLEETS, epsilons: Sequence[str] = EPSILONS) -> list[Line]:
    """The lines of a way: one for each epsilon, or one where there is no noise."""
    found = []
    for epsilon in epsilons if way.noise else ("",):
        about = float(epsilon or 0)
        own = fleets if way.noise else fleets[:1]
        told = [_mean(way, about, devices) if devices <= way.most else None for devices in own]
        whole = told if way.noise else told * len(fleets)
        found.append(Line(way.data, way.model, way.noise, epsilon, tuple(whole)))
        print(f"{way.data}, {way.model}, {way.noise or 'without privacy'}, {epsilon}", file=sys.stderr, flush=True)
    return found


def _mean(way: Way, epsilon: float, devices: int) -> float:
    return float(np.mean([way.told(way.data, epsilon, devices, seed) for seed in range(way.runs)]))


def table(found: Sequence[Line]) -> str:
    """The first table of the page."""
    head = [*_HEAD, *(f"{devices:,}" for devices in FLEETS)]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in found:
        cells = [line.data, line.model, line.noise or "none", line.epsilon or "-"]
        cells += ["-" if told is None else f"{100 * told:.1f}%" for told in line.told]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def lines(page: str) -> list[Line]:
    """What the first table of the page says."""
    whole = _PART.of(page).partition("\n\n")[0]
    found = []
    for row in whole.splitlines()[2:]:
        name, model, noise, epsilon, *told = (cell.strip() for cell in row.split("|")[1:-1])
        parts = tuple(None if cell == "-" else float(cell.rstrip("%")) / 100 for cell in told)
        found.append(Line(name, model, noise.replace("none", ""), epsilon.replace("-", ""), parts))
    return found


def enough(found: Sequence[Line]) -> str:
    """The second table: from how many devices on, of those that were tried, a way stays within two points of the
    same model without privacy."""
    plain = {(line.data, line.model): line.told[-1] for line in found if not line.noise}
    noises = {(line.data, line.model, line.noise): dict[str, str]() for line in found if line.noise}
    for line in found:
        if line.noise:
            noises[line.data, line.model, line.noise][line.epsilon] = _least(line, plain[line.data, line.model])
    head = ["data", "model", "noise", *(f"epsilon {epsilon}" for epsilon in EPSILONS)]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    rows += [f"| {' | '.join([*way, *(own.get(each, '-') for each in EPSILONS)])} |" for way, own in noises.items()]
    return "\n".join(rows)


def _least(line: Line, plain: float | None) -> str:
    """The least number of devices from which on all are enough."""
    assert plain is not None
    least = "-"
    for devices, told in reversed(list(zip(FLEETS, line.told, strict=True))):
        if told is None:
            continue
        if round(told - plain + _POINTS, 9) < 0:
            return least if least != "-" else f"more than {devices:,}"
        least = f"{devices:,}"
    return least


def main(write: bool, words: Sequence[str]) -> None:
    """Measure, and print or write."""
    page = PAGE.read_text(encoding="utf-8")
    kept = lines(page) if words else []
    found = []
    for way in WAYS:
        named = " ".join((way.data, way.model, way.noise or "none"))
        if not words or any(word in named for word in words):
            found += measured(way)
        else:
            found += [line for line in kept if line[:3] == way[:3]]
    whole = table(found)
    made = f"{whole}\n\n{enough(lines(f'{_PART.begin}{whole}{_PART.end}'))}"
    print(made)
    if write:
        PICTURE.write_text(drawn(lines(_PART.write(PAGE, made)), FLEETS), encoding="utf-8")


if __name__ == "__main__":
    main("--write" in sys.argv, [word for word in sys.argv[1:] if not word.startswith("-")])
