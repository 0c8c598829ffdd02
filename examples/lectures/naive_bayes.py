"""Naive Bayes out of counts: with noise on every count, or out of answers of which each device gives one.

All that naive Bayes has to know is how many people have each pair of a class and a feature's value. Decision trees,
too, are made of such counts: which feature to ask for first is the one whose table with the class says most.

With D features one person more or less changes D counts, so that at epsilon the noise of each has the scale
D / epsilon; that is as if each of D tables were asked for at epsilon / D. Where somebody is replaced by somebody
else, as on devices, two cells of each table change, and both are twice as much; lecture notes define neighbours by
replacement, and use D. A device of this system answers about one table alone, drawn by itself, with all of epsilon.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from examples.learning.central import counts
from numpy.typing import NDArray

from deniable import Collection, Epsilon, Metric
from deniable.mechanisms import Laplace, VectorLaplace
from deniable_aggregator.answers import answer
from deniable_aggregator.answers.naive_bayes import NaiveBayes
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = ["FEATURES", "SHOWS", "fleet", "from_counts", "from_devices", "gains", "main", "right", "scales", "told"]

SHOWS = ("C8", "E14", "H9")
FEATURES = {"wears": ("light", "heavy"), "moves": ("often", "seldom"), "sleeps": ("short", "long")}
CLASSES = ("well", "ill")
_CHANCES = {"wears": (0.75, 0.35), "moves": (0.8, 0.3), "sleeps": (0.5, 0.6)}
"""Of the first value of each feature, for the well and for the ill."""
_ILL = 0.3
_HEAD = '[collection]\nname = "l"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
_Floats = NDArray[np.float64]


def scales(features: int, epsilon: Fraction) -> dict[str, tuple[float, float]]:
    """The scale of the noise of a count, by who neighbours are: all counts at once, and each table at its part."""
    cost, (part, steps) = Epsilon.of(epsilon), (Epsilon.of(epsilon).part(features), 100)
    added = Laplace(cost, steps, sensitivity=features), Laplace(part, steps, sensitivity=1)
    replaced = VectorLaplace(cost, 2 * features, bound=features).noise, VectorLaplace(part, 2, bound=1).noise
    return {
        "one person more or less": (float(1 / added[0].rate), float(1 / added[1].rate)),
        "one person replaced": (float(1 / replaced[0].rate), float(1 / replaced[1].rate)),
    }


def population() -> dict[tuple[str, ...], float]:
    """The share of every class with every value of all features."""
    found = {}
    for number, share in enumerate((1 - _ILL, _ILL)):
        for places in product(range(2), repeat=len(FEATURES)):
            chance = share
            for (first, *_), place in zip(((own[number], own) for own in _CHANCES.values()), places, strict=True):
                chance *= first if place == 0 else 1 - first
            values = (own[place] for own, place in zip(FEATURES.values(), places, strict=True))
            found[CLASSES[number], *values] = chance
    return found


def tables(often: dict[tuple[str, ...], float]) -> dict[str, _Floats]:
    """Of each feature how many of each class have each value."""
    found = {name: np.zeros((2, 2)) for name in FEATURES}
    for (own, *values), count in often.items():
        for (name, known), value in zip(FEATURES.items(), values, strict=True):
            found[name][CLASSES.index(own), known.index(value)] += count
    return found


@cache
def _metric() -> Metric:
    texts = [_HEAD]
    for name, values in {"health": CLASSES, **FEATURES}.items():
        listed = ", ".join(f'"{value}"' for value in values)
        texts.append(f'[metrics.{name}]\nkind = "category"\nvalues = [{listed}]\ndescription = "d"\nepsilon = 1\n')
    of = ", ".join(f'"{name}"' for name in ("health", *FEATURES))
    texts.append(f'[metrics.pairs]\nkind = "joint"\nof = [{of}]\npairs = "health"\ndescription = "d"\nepsilon = 1\n')
    return Collection.loads("".join(texts)).metrics["pairs"]


def fleet(devices: int, seed: int) -> dict[tuple[str, ...], float]:
    """How many of so many devices have what."""
    shares = population()
    drawn = np.random.default_rng(seed).multinomial(devices, [*shares.values()])
    return {key: float(count) for key, count in zip(shares, drawn, strict=True)}


def from_devices(often: dict[tuple[str, ...], float], seed: int) -> NaiveBayes:
    """The model of answers at epsilon 1, one a device."""
    names = ("health", *FEATURES)
    have = [dict(zip(names, key, strict=True)) for key, count in often.items() for _ in range(int(count))]
    found = answer(_metric(), simulate(_metric(), have, np.random.default_rng(seed)))
    return found.naive_bayes("health")


def from_counts(often: dict[tuple[str, ...], float], epsilon: float, seed: int) -> NaiveBayes:
    """The model of counts with noise, where somebody has all data."""
    values = {"health": CLASSES, **FEATURES}
    return counts.model("health", values, tables(often), epsilon, np.random.default_rng(seed))


def right(model: NaiveBayes) -> float:
    """The chance that the model tells somebody's class right."""
    devices = [dict(zip(FEATURES, key[1:], strict=True)) for key in population()]
    said = model.predict(devices)
    return sum(share for (key, share), own in zip(population().items(), said, strict=True) if key[0] == own)


def gains(model: NaiveBayes) -> dict[str, float]:
    """By how many bits each feature tells the class: a decision tree asks first for the most."""
    found = {}
    for name, own in model.likelihoods.items():
        both = model.prior[:, np.newaxis] * own
        alone = np.outer(both.sum(axis=1), both.sum(axis=0))
        found[name] = float((both * np.log2(both / alone)).sum())
    return found


def told() -> str:
    """Scales of noise, models, and a tree's first question."""
    noise = [(name, *(f"{scale:g}" for scale in both)) for name, both in scales(5, Fraction(1, 10)).items()]
    rows = []
    for devices in (1_000, 10_000, 100_000):
        often = fleet(devices, 1)
        models = from_counts(often, 1e6, 1), from_counts(often, 1.0, 2), from_devices(often, 3)
        asked = gains(models[-1])
        first = max(asked, key=lambda name: asked[name])
        rows.append((f"{devices:,}", *(f"{right(model):.1%}" for model in models), first))
    header = ("devices", "without noise", "noise on counts", "each device", "a tree's first question")
    return "\n".join(
        [
            "Five features, epsilon 0.1: the scale of the noise of each count.",
            "",
            table(("neighbours", "all counts at once", "each at a fifth"), noise, (False, True, True)),
            "",
            "Well or ill, by three features, at epsilon 1: how often the model is right. (70% are well.)",
            "",
            table(header, rows, (True, True, True, True, False)),
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
