"""Linkers: attackers who put reports of different epochs together, as well as the exact channels allow.

words:
  track       reports that are taken for one device's, with what is believed of what lasts of it
  followed    by a tracker who knows no device: it begins with the reports of the first epoch
  recognised  by someone who knows all that every device remembers and answers
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from deniable import Collection, Metric, linkage
from deniable.mechanisms import Mechanism, Memoized, MemoizedSubset, RandomizedResponse

__all__ = ["DEVICES", "EPOCHS", "Fleet", "followed", "recognised"]

DEVICES, EPOCHS = 400, 60
_Floats = NDArray[np.float64]


@dataclass
class Track:
    """What an attacker believes of what lasts of one metric, for every track, and how reports change it."""

    prior: _Floats
    """P(lasting) in columns: of a bit 0 and 1, of a subset each answer's being in it."""
    score: Callable[[_Floats, NDArray[np.int64]], _Floats]
    """The log odds of every track against every report."""
    learn: Callable[[_Floats, NDArray[np.int64]], _Floats]
    """Beliefs after one report for each track."""
    beliefs: _Floats = field(init=False)

    def __post_init__(self) -> None:
        self.beliefs = np.repeat(self.prior[np.newaxis], DEVICES, axis=0)


def bit(p: float) -> Track:
    """A remembered bit, or an answer that stays the same, that is told with chance p: log odds of yes."""
    weight = math.log(p / (1 - p))

    def score(beliefs: _Floats, sent: NDArray[np.int64]) -> _Floats:
        yes = 1 / (1 + np.exp(-beliefs))
        said, denied = yes * p + (1 - yes) * (1 - p), yes * (1 - p) + (1 - yes) * p
        return np.where(sent == 1, np.log(2 * said), np.log(2 * denied))

    return Track(np.zeros(1), score, lambda beliefs, sent: beliefs + weight * (2 * sent[:, np.newaxis] - 1))


def subset(mechanism: MemoizedSubset) -> Track:
    """A remembered subset: for each answer the log odds of its being there."""
    high, low, size, answers = float(mechanism.high), float(mechanism.low), mechanism.size, mechanism.answers

    def score(beliefs: _Floats, sent: NDArray[np.int64]) -> _Floats:
        there = 1 / (1 + np.exp(-beliefs))
        there *= size / there.sum(axis=1, keepdims=True)
        found: _Floats = np.log((low + (high - low) * there)[:, sent] * answers)
        return found

    def learn(beliefs: _Floats, sent: NDArray[np.int64]) -> _Floats:
        beliefs = beliefs.copy()
        beliefs[np.arange(len(sent)), sent] += math.log(high / low)
        return beliefs

    return Track(np.full(answers, math.log(size / (answers - size))), score, learn)


def repeated() -> Track:
    """What is repeated as it is: the same, or another device."""

    def score(beliefs: _Floats, sent: NDArray[np.int64]) -> _Floats:
        return np.where(np.isnan(beliefs) | (beliefs == sent), 0.0, -50.0)

    return Track(np.full(1, np.nan), score, lambda _, sent: sent[:, np.newaxis].astype(np.float64))


def track_of(metric: Metric) -> Track:
    """How an attacker follows a metric."""
    mechanism = metric.columns[0].mechanism
    if linkage.repeats(metric):
        return repeated()
    if isinstance(mechanism, MemoizedSubset):
        return subset(mechanism)
    sent = mechanism.fresh if isinstance(mechanism, Memoized) else mechanism
    assert isinstance(sent, RandomizedResponse)
    return bit(float(sent.p))


@dataclass
class Fleet:
    """What so many devices have sent, by the SDK's own mechanisms; in each epoch in another order."""

    collection: Collection
    remembered: dict[str, list[int]] = field(default_factory=dict)
    sent: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    senders: NDArray[np.int64] = field(init=False)
    """Whose reports they are, in each epoch."""
    dark: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        """Every device keeps its answers: the same one for what is memoised, an even bet for what is fresh."""
        self.dark = np.arange(DEVICES) % 2
        generator = np.random.default_rng(3)
        self.senders = np.array([generator.permutation(DEVICES) for _ in range(EPOCHS)])
        for name, metric in self.collection.metrics.items():
            mechanism = metric.columns[0].mechanism
            keep = mechanism.remember if metric.memoize else int
            send = mechanism.renew if metric.memoize else mechanism.randomize
            answers = self.dark.tolist() if name == "dark" else [0] * DEVICES
            kept = self.remembered[name] = [keep(answer) for answer in answers]
            self.sent[name] = np.array([[send(kept[sender]) for sender in epoch] for epoch in self.senders.tolist()])


def joined(scores: Sequence[_Floats]) -> NDArray[np.int64]:
    """For each track the report that it gets where all tracks together get the likeliest ones."""
    found: NDArray[np.int64] = linear_sum_assignment(-sum(scores, np.zeros((DEVICES, DEVICES))))[1]
    return found


def followed(fleet: Fleet) -> tuple[float, int]:
    """The share of the reports after the first that a tracker puts to the right device, and its right guesses.

    A track begins with each report of the first epoch. In each further one, all tracks and reports are put together
    so that they are likeliest, and believed.
    """
    tracks = {name: track_of(metric) for name, metric in fleet.collection.metrics.items()}
    right, order = 0, np.arange(DEVICES)
    for epoch, senders in enumerate(fleet.senders):
        sent = {name: own[epoch] for name, own in fleet.sent.items()}
        if epoch:
            order = joined([track.score(track.beliefs, sent[name]) for name, track in tracks.items()])
            right += int((senders[order] == fleet.senders[0]).sum())
        for name, track in tracks.items():
            track.beliefs = track.learn(track.beliefs, sent[name][order])
    guessed = tracks["dark"].beliefs[:, 0] > 0
    return right / DEVICES / (EPOCHS - 1), int((guessed == fleet.dark[fleet.senders[0]]).sum())


def recognised(fleet: Fleet) -> tuple[float, float]:
    """Where all that lasts is known of every device: the share of reports found, each alone and all at once."""
    tables = {name: known(metric.columns[0].mechanism, fleet.remembered[name])
              for name, metric in fleet.collection.metrics.items()}  # fmt: skip
    alone = together = 0
    for epoch, senders in enumerate(fleet.senders):
        told = (table[:, fleet.sent[name][epoch]] for name, table in tables.items())
        total = sum(told, np.zeros((DEVICES, DEVICES)))
        alone += int((senders[total.argmax(axis=1)] == np.arange(DEVICES)).sum())
        together += int((senders[joined([total])] == np.arange(DEVICES)).sum())
    return alone / DEVICES / EPOCHS, together / DEVICES / EPOCHS


def known(mechanism: Mechanism, lasting: list[int]) -> _Floats:
    """log P(payload | lasting), a row a device."""
    rows = {}
    for each in set(lasting):
        if isinstance(mechanism, MemoizedSubset):
            chances = [mechanism.high if each >> y & 1 else mechanism.low for y in mechanism.payloads()]
        else:
            sent = mechanism.fresh if isinstance(mechanism, Memoized) else mechanism
            chances = [sent.probability(y, each) for y in sent.payloads()]
        rows[each] = [math.log(chance) for chance in chances]
    return np.array([rows[each] for each in lasting])
