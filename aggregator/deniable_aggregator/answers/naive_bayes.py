"""Naive Bayes: the probability of each value of a joint's target, from what a device has for its features.

words:
  prior       the share of each value of the target
  likelihood  the share of each value of a feature among the devices with a value of the target
  shrunk      of a table: nearer to independent values, by as much of what is seen as may be noise

It takes features for independent where the target is known, which they seldom are; its decisions are good
nevertheless. It is made of a table, or of a table a feature, as an answer tells it: whoever has the answer has the
model, and it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.kinds.joint import joined
from deniable_aggregator.consistency import on_simplex

__all__ = ["NaiveBayes", "naive_bayes"]

_Floats = NDArray[np.float64]
_Row = tuple[str, float, float]
"""Its key, its value and its standard error."""
_CALLED = {False: "no", True: "yes"}


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """A model that tells one source of a joint from the others."""

    target: str
    """The source that is told."""
    classes: tuple[str, ...]
    """Its values."""
    values: Mapping[str, tuple[str, ...]]
    """Those of each feature, by its name."""
    prior: _Floats
    """The share of each of the classes."""
    likelihoods: Mapping[str, _Floats]
    """For each feature, a row a class: the shares of its values."""
    reports: int
    """How many reports are behind it."""

    def probabilities(self, devices: Sequence[Mapping[str, Any]]) -> _Floats:
        """A row a device, a column a class. A feature that a device has no value for is left out."""
        scores = np.tile(np.log(self.prior), (len(devices), 1))
        for name, likelihood in self.likelihoods.items():
            numbers = {value: place for place, value in enumerate(self.values[name])}
            logs = np.vstack([np.log(likelihood).T, np.zeros(len(self.classes))])  # the last is for who has none
            scores += logs[[_place(name, numbers, device) for device in devices]]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: _Floats = scores / scores.sum(axis=1, keepdims=True)
        return found

    def predict(self, devices: Sequence[Mapping[str, Any]]) -> list[str]:
        """The likeliest class of each device."""
        return [self.classes[place] for place in self.probabilities(devices).argmax(axis=1)]

    def categorical_nb(self) -> Any:
        """The same as a fitted `CategoricalNB` of scikit-learn (the extra `learning`), whose inputs are the places of
        values in `values`, a column a feature in their order."""
        from sklearn.naive_bayes import CategoricalNB

        model = CategoricalNB(alpha=1e-10, fit_prior=True)
        model.classes_ = np.array(self.classes)
        model.n_features_in_ = len(self.values)
        model.n_categories_ = np.array([len(own) for own in self.values.values()])
        model.class_count_ = self.prior * self.reports
        model.class_log_prior_ = np.log(self.prior)
        shares = self.prior[:, np.newaxis]
        model.category_count_ = [shares * own * self.reports for own in self.likelihoods.values()]
        model.feature_log_prob_ = [np.log(own) for own in self.likelihoods.values()]
        return model


def naive_bayes(metric: str, reports: int, rows: Mapping[str, Sequence[_Row]], target: str) -> NaiveBayes:
    """The model of an answer's rows, by their series; a ValueError where it is no joint's or has no such target."""
    if not {"table", "marginals"} <= rows.keys() or not reports:
        raise ValueError(f"{metric} is no joint, is not told with its table and marginals, or has no reports")
    values: dict[str, list[str]] = {}
    for key, *_ in rows["marginals"]:
        name, _, value = key.partition(": ")
        values.setdefault(name, []).append(value)
    if target not in values:
        raise ValueError(f"{metric} has no source {target!r}; its sources: {', '.join(values)}")
    cells = {key: (share, error) for key, share, error in rows["table"]}
    tables = _tables(values, cells, target) or _pairs(values, cells, target)
    if not tables:
        wanted = ", ".join(sorted({key.partition(": ")[0] for key in cells}))
        raise ValueError(f"{metric} has pairs of another target than {target!r}, each with one of {wanted}")
    known = {name: _shrunk(*own, reports) for name, own in tables.items()}
    prior = np.mean([own.sum(axis=1) / own.sum() for own in known.values()], axis=0)
    likelihoods = {name: own / own.sum(axis=1, keepdims=True) for name, own in known.items()}
    features = {name: tuple(own) for name, own in values.items() if name != target}
    return NaiveBayes(target, tuple(values[target]), features, prior, likelihoods, reports)


def _shrunk(shares: _Floats, variances: _Floats, reports: int) -> _Floats:
    """What a table is taken for: of what its cells depart from independent values as much as is likely not noise.

    By how much of themselves cells depart, all together, is what departures are more than noise; of that each has a
    part that is the larger the less noise there is in it. (An empirical Bayes estimate, as Stein's.) One
    report is added for each value, of all classes by their shares: what nobody seems to have says nothing.
    """
    first, second = (on_simplex(shares.sum(axis=axis)) for axis in (1, 0))
    together = np.outer(first, second)
    departures = shares - np.outer(shares.sum(axis=1), shares.sum(axis=0))
    free = (len(first) - 1) * (len(second) - 1) / shares.size
    likely = max(float((departures**2 - free * variances).sum()) / float((together**2).sum()), 0.0) * together**2
    kept = np.divide(likely, likely + free * variances, out=np.zeros(shares.shape), where=likely > 0)
    fitted = on_simplex((together + kept * departures).ravel()).reshape(shares.shape)
    return fitted + (first[:, np.newaxis] + 1 / reports) / reports


_Cells = Mapping[str, tuple[float, float]]
"""The share of every cell and its standard error."""


def _tables(values: Mapping[str, Sequence[str]], cells: _Cells, target: str) -> dict[str, tuple[_Floats, _Floats]]:
    """Of each feature the shares with the target, a row a class, and their variances: summed over the others; none
    where there is a table a feature."""
    keys = [joined(cell) for cell in product(*values.values())] if len(cells) == _count(values) else []
    if not keys or not cells.keys() >= set(keys):
        return {}
    sizes = [len(own) for own in values.values()]
    found, every = {}, np.array([cells[key] for key in keys])
    whole = every[:, 0].reshape(sizes), (every[:, 1] ** 2).reshape(sizes)
    places = {name: axis for axis, name in enumerate(values)}
    for name, axis in places.items():
        if name != target:
            others = tuple(own for own in places.values() if own not in {axis, places[target]})
            shares, variances = (own.sum(axis=others) for own in whole)
            found[name] = (shares, variances) if places[target] < axis else (shares.T, variances.T)
    return found


def _count(values: Mapping[str, Sequence[str]]) -> int:
    return math.prod(map(len, values.values()))


def _pairs(values: Mapping[str, Sequence[str]], cells: _Cells, target: str) -> dict[str, tuple[_Floats, _Floats]]:
    """The same where there is a table a feature; none where these are of another target."""
    found = {}
    for name, own in values.items():
        if name == target:
            continue
        keys = [f"{name}: {joined(cell)}" for cell in product(values[target], own)]
        if not cells.keys() >= set(keys):
            return {}
        every = np.array([cells[key] for key in keys]).reshape(len(values[target]), len(own), 2)
        found[name] = every[..., 0], every[..., 1] ** 2
    return found


def _place(name: str, numbers: Mapping[str, int], device: Mapping[str, Any]) -> int:
    """The place of a device's value; one that is missing comes after all."""
    value = device.get(name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return len(numbers)
    called = _CALLED[value] if isinstance(value, bool) else value
    if called not in numbers:
        raise ValueError(f"{name} has no value {value!r}; its values: {', '.join(numbers)}")
    return numbers[called]
