"""Tables: what goes together, from the estimated share of each cell and how reports about cells depend on each other.

words:
  cell        a value of each of several sources; a report supports some cells
  sum         of the shares of some cells: of a source's value (its marginal), or of a pair of values
  cells       of a sum, how many it is of
  conditional the share of devices with a value among those that have another one: a ratio of two sums, of which the
              first is part of the second
  near, far   the chances that a report supports the own cell and a certain other one, and two certain others

**A sum** f of m cells is the mean of what each report supports of them, less what it would support anyway, over p -
q. The variance of one report's part is known from f alone, whatever is in the single cells:

    (m (q - far) + m^2 (far - q^2) + f (p - q - 2 (near - far) + 2 m (near - far - q (p - q)))
     - f^2 (p - q)^2) / (p - q)^2

(the four sums of `_levels.py`, with weights of 1). It is taken at either end of the interval for that end, as
Wilson's interval takes the variance. Where cells are remembered, and what is remembered is randomised once more, the
same with the chances of the first randomisation is the part that a device brings along: the second one's cancel.

**A conditional** r = f_ab / f_b is believed where f_ab - r f_b may be 0 (Fieller, 1954), whose variance, if r is
true, is a quadratic function of r: so is all of the inequality, and its ends are known. Where f_b itself may be 0 by
what is known of it, nothing is left out of what is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.estimators._frequencies import GRAIN
from deniable_aggregator.estimators._levels import Told
from deniable_aggregator.estimators._shared import parts, roots
from deniable_aggregator.estimators._target import Target

__all__ = ["Conditionals", "Sums", "Table"]

_Floats = NDArray[np.float64]
_VALUES = np.array([0.0, 1.0, -1.0])
"""The variance f (1 - f) of what devices are: the coefficients of 1, f and f^2."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of as many cells each."""

    reports: int
    """How many there are."""
    values: _Floats
    """The sums, not corrected; nan without reports."""
    whole: _Floats
    """The variance of one report's part of a sum f, noise and all: the coefficients of 1, f and f^2."""
    sampled: float = 1.0
    """How many times f (1 - f) of it is of what devices are."""
    remembered: _Floats | None = None
    """What of it is of what they remember, if they do: the coefficients of 1, f and f^2."""

    def variance(self, target: Target) -> _Floats:
        """What counts of it."""
        return self.whole if target is Target.POPULATION else self.whole - self.sampled * _VALUES

    def std_errors(self, target: Target) -> _Floats:
        """The standard error of each."""
        free, linear, square = self.variance(target)
        shares = np.clip(self.values, 0, 1)
        with np.errstate(invalid="ignore"):
            found: _Floats = np.sqrt(np.maximum(free + shares * (linear + shares * square), 0) / max(self.reports, 1))
        return found

    def intervals(self, confidence: float, target: Target) -> tuple[_Floats, _Floats]:
        """Low and high ends for each, within [0, 1]."""
        if not self.reports:
            return np.zeros(len(self.values)), np.ones(len(self.values))
        low, high = roots(self.values, _squared(confidence) / self.reports * self.variance(target))
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def shared(self, spread: float, confidence: float, target: Target) -> _Floats:
        """For each the part of a report's variance that is of what devices bring along, at low end, value and high
        end."""
        values = self.sampled * _VALUES
        kept = (values if self.remembered is None else self.remembered) - values * (target is Target.REPORTING)
        return parts(self.values, kept, self.variance(target), spread, self.reports, confidence)

    @staticmethod
    def weights(known: Sequence[Sums]) -> _Floats:
        """How much each counts where they are averaged: by how sure it is of a sum that is rare."""
        weights: _Floats = np.array([each.reports / each.whole[0] for each in known])
        weights /= weights.sum()
        return weights

    @classmethod
    def averaged(cls, every: Sequence[Sums]) -> Sums:
        """The same sums by the reports of several tables, weighed by how sure each is of a sum that is rare."""
        known = [each for each in every if each.reports]
        if len(known) < 2:
            return known[0] if known else every[0]
        weights = cls.weights(known)
        reports = sum(each.reports for each in known)
        scales = [weight**2 * reports / each.reports for weight, each in zip(weights, known, strict=True)]
        return cls(
            reports,
            np.array([each.values for each in known]).T @ weights,
            sum((scale * each.whole for scale, each in zip(scales, known, strict=True)), np.zeros(3)),
            sum(scales),
            None
            if any(each.remembered is None for each in known)
            else np.sum([scale * each.remembered for scale, each in zip(scales, known, strict=True)], axis=0),
        )


@dataclass(frozen=True, slots=True)
class Conditionals:
    """Ratios of sums to sums that they are part of."""

    reports: int
    """How many there are."""
    part: _Floats
    """The first sums."""
    among: _Floats
    """The second ones, in which the first are."""
    free: _Floats
    """The variance of one report's part of f_ab - r f_b, if r is the ratio: the coefficients of 1, r and r^2, without
    what depends on f_b,"""
    slope: float
    """and how much f_b r (1 - r) counts."""

    @property
    def values(self) -> _Floats:
        """The ratios, not corrected; nan where the second sum is not above 0."""
        found: _Floats = np.divide(self.part, self.among, out=np.full(self.part.shape, np.nan), where=self.among > 0)
        return found

    def _variance(self, target: Target) -> _Floats:
        """The coefficients of 1, r and r^2, each for every ratio."""
        slope = self.slope - (target is Target.REPORTING)
        among = slope * np.clip(self.among, 0, 1)
        return np.stack([np.full(among.shape, self.free[0]), self.free[1] + among, self.free[2] - among])

    def std_errors(self, target: Target) -> _Floats:
        """The standard error of each."""
        free, linear, square = self._variance(target)
        ratio = np.clip(self.values, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(np.maximum(free + ratio * (linear + ratio * square), 0) / max(self.reports, 1))
            found: _Floats = np.where(self.among > 0, error / self.among, np.nan)
        return found

    def intervals(self, confidence: float, target: Target) -> tuple[_Floats, _Floats]:
        """Low and high ends for each, within [0, 1]."""
        none, every = np.zeros(len(self.part)), np.ones(len(self.part))
        if not self.reports:
            return none, every
        scale = _squared(confidence) / self.reports
        free, linear, square = scale * self._variance(target)
        # (part - r among)^2 is at most free + linear r + square r^2
        a, b, c = self.among**2 - square, -(2 * self.part * self.among + linear), self.part**2 - free
        root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0))
        known = (a > 0) & (self.among > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (np.clip((-b + sign * root) / (2 * a), 0, 1) for sign in (-1, 1))
        return np.where(known, low, none), np.where(known, high, every)

    def shared(self, spread: float, confidence: float, target: Target) -> _Floats:  # noqa: ARG002
        """For each the part of a report's variance that is of what devices are: thrice that at the value."""
        if target is Target.REPORTING:
            return np.zeros((3, len(self.part)))
        free, linear, square = self._variance(target)
        ratio = np.clip(self.values, 0, 1)
        kept = np.clip(self.among, 0, 1) * ratio * (1 - ratio)
        with np.errstate(invalid="ignore"):
            return np.tile(np.clip(kept / (free + ratio * (linear + ratio * square)), 0, 1), (3, 1))


@dataclass(frozen=True)
class Table:
    """The shares of all cells, and the chances behind them."""

    told: Told
    """What reports say of the cells."""
    sizes: tuple[int, ...]
    """How many values each source has; the last one's change fastest from cell to cell."""
    remembered: tuple[float, float, float, float] | None = None
    """Of what devices remember, if they do, the chances p, q, near and far."""

    @property
    def reports(self) -> int:
        """How many there are."""
        return self.told.reports

    @cached_property
    def shares(self) -> _Floats:
        """The share of each cell, an axis a source."""
        return self.told.values.reshape(self.sizes)

    @property
    def more(self) -> float:
        """p - q - 2 (near - far): how much more a report's parts vary where devices are."""
        told = self.told
        return told.p - told.q - 2 * (told.own_and_other - told.two_others)

    def summed(self, *axes: int) -> _Floats:
        """The shares of the values of some sources together, in the order in which these are named."""
        others = tuple(axis for axis in range(len(self.sizes)) if axis not in axes)
        kept: _Floats = np.transpose(self.shares.sum(axis=others), np.argsort(np.argsort(axes)))
        return kept

    def cells(self, *axes: int) -> int:
        """How many cells such a sum is of."""
        return int(np.prod([size for axis, size in enumerate(self.sizes) if axis not in axes], dtype=np.int64))

    def marginal(self, axis: int) -> Sums:
        """The share of each value of a source."""
        told, cells = self.told, self.cells(axis)
        whole = _of_sum(cells, told.p, told.q, told.own_and_other, told.two_others)
        whole[0] += GRAIN * cells / max(self.reports, 1) / (told.p - told.q) ** 2
        remembered = None if self.remembered is None else _of_sum(cells, *self.remembered)
        return Sums(self.reports, self._known(self.summed(axis)), whole, remembered=remembered)

    def conditionals(self, axis: int, given: int) -> Conditionals:
        """The share of each value of a source among the devices with each value of another one: of all pairs, the
        other one's values changing slowest."""
        told = self.told
        pairs = self._known(self.summed(given, axis))
        few, many = self.cells(axis, given), self.cells(given)
        single, double = told.q - told.two_others, told.two_others - told.q**2
        free = np.array(
            [
                single * few + double * few**2 + GRAIN * few / max(self.reports, 1),
                -2 * (single * few + double * few * many),
                single * many + double * many**2,
            ]
        ) / (told.p - told.q) ** 2  # fmt: skip
        among = np.repeat(pairs.sum(axis=1), pairs.shape[1])
        return Conditionals(self.reports, pairs.ravel(), among, free, self.more / (told.p - told.q) ** 2)

    def _known(self, values: _Floats) -> _Floats:
        return values if self.reports else np.full(values.shape, np.nan)


def _of_sum(cells: int, p: float, q: float, near: float, far: float) -> _Floats:
    """The variance of one report's part of a sum f of cells: the coefficients of 1, f and f^2."""
    rate = p - q
    free = cells * (q - far) + cells**2 * (far - q**2)
    linear = rate - 2 * (near - far) + 2 * cells * (near - far - q * rate)
    return np.array([free, linear, -(rate**2)]) / rate**2


def _squared(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2) ** 2
