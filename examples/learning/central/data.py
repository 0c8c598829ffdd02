"""Data that ships with scikit-learn, as vectors no longer than 1: rows for devices to have, and others to be told.

How measurements are scaled is public: it was known before anybody was asked, as the ends of ranges are. What comes
out longer than 1 is shortened to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .regression import Fleet, Floats

__all__ = ["NAMES", "Split", "fleet", "split"]

_TRAINING = {"breast cancer": 400, "digits": 1_300}
NAMES = tuple(_TRAINING)
"""569 cases, malignant or benign, by 30 measurements; 1,797 handwritten digits by 64 pixels."""
_INK, _USUAL = 16.0, 4.0
"""How dark a pixel of a digit is at most; and about how long 64 of them are, in units of that."""


class Split(NamedTuple):
    """Rows, by what they are for."""

    train: Fleet
    """One device for each row."""
    vectors: Floats
    """Of the rows that are told."""
    classes: NDArray[np.int64]
    """What these are."""


def split(name: str, seed: int) -> Split:
    """One of the data sets, in an order that the seed decides."""
    from sklearn import datasets

    found = datasets.load_breast_cancer() if name == "breast cancer" else datasets.load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))
    train, test = np.split(order, [_TRAINING[name]])
    vectors = _scaled(name, found.data)
    classes = found.target.astype(np.int64)
    outputs = len(found.target_names) if len(found.target_names) > 2 else 1
    every = Fleet(vectors[train], classes[train], np.ones(len(train)), outputs)
    return Split(every, vectors[test], classes[test])


def _scaled(name: str, rows: Floats) -> Floats:
    """With a constant at the end, and no longer than 1."""
    if name == "breast cancer":
        known = (rows - rows.mean(axis=0)) / rows.std(axis=0) / np.sqrt(rows.shape[1])
    else:
        known = rows / _INK / _USUAL
    whole = np.column_stack([known, np.ones(len(rows))]) / np.sqrt(2)
    scaled: Floats = whole / np.maximum(1.0, np.linalg.norm(whole, axis=1, keepdims=True))
    return scaled


def fleet(train: Fleet, devices: int, generator: np.random.Generator) -> Fleet:
    """Devices that each have one of the rows, drawn with replacement."""
    drawn = generator.multinomial(devices, np.full(len(train.classes), 1 / len(train.classes)))
    return train._replace(copies=drawn.astype(np.float64))
