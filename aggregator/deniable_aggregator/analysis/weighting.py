"""Weighting: what an answer would be if devices reported as the population is made up, which is known from elsewhere.

words:
  stratum   the devices in one value of a segment, with its share of the population

Who reports is not always who is meant: on one platform every second device reports, on another every tenth. Where a
segment's shares of the population are known, each stratum is estimated by itself, and the rows are added up by these
shares (post-stratification). A stratum's devices are others than those of the next one, so squares of reaches add up,
by squares of shares; over several epochs a device is taken to stay in its segment. What is not a mean over devices
(a total, a deviation, a quantile) is not told, and whoever asks for a row of it is told so. It is right as far as the
shares are, and as far as within a stratum those that report are like those that do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from deniable import Metric
from deniable_aggregator.analysis.catalog import NotKnownError
from deniable_aggregator.analysis.query import Analyst, chosen
from deniable_aggregator.analysis.question import Answer, Query
from deniable_aggregator.analysis.sides import squares
from deniable_aggregator.analysis.turns import Turn
from deniable_aggregator.analysis.windows import Counters, keys_of, windowed
from deniable_aggregator.answers import Estimate, Measure, Row, RowId, Series, Target, ends, searching, values_vary

__all__ = ["checked", "weighted", "weighted_answers"]

_NEAR = 1e-6


def weighted(
    metric: Metric,
    strata: Sequence[tuple[float, Sequence[Sequence[Counters]]]],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    more: Sequence[RowId] = (),
    only: Sequence[str] = (),
) -> tuple[Estimate, float]:
    """The estimate from the share of each stratum and its counters, epoch by epoch; and how many reports of different
    devices it is worth. It has the rows of the first stratum, or those that are found in any, with some `more`;
    where `only` some series are told, others may be without rows."""
    counted = [(share, epochs) for share, epochs in strata if share > 0]
    asked = confidence, target
    begun = windowed(metric, counted[0][1], *asked, more=more, only=only)
    if searching(metric):
        rest = [windowed(metric, epochs, *asked, more=more, only=only) for _, epochs in counted[1:]]
        begun = windowed(metric, counted[0][1], *asked, keys_of(own.estimate for own in (begun, *rest)))
    first = begun.estimate
    others = [(share, windowed(metric, epochs, *asked, first.keys)) for share, epochs in counted[1:]]
    found = [(counted[0][0], begun), *others]
    linear = np.isfinite(values_vary(metric, first)) & np.array(
        [own.measure is not Measure.TOTAL for own in first.headings], dtype=bool
    )
    reach = np.sqrt(sum(share**2 * squares(metric, own.estimate) for share, own in found))
    low, high = ends(metric, first)
    rows: list[Row] = []
    for place, row in enumerate(first.rows):
        own = [(share, each.estimate.rows[place]) for share, each in found]
        value = math.fsum(share * each.value for share, each in own)
        down, up = (min(max(end, low[place]), high[place]) for end in value + np.array([-1, 1]) * reach[:, place])
        error = math.sqrt(math.fsum((share * each.std_error) ** 2 for share, each in own))
        rows.append(Row(row.key, value, float(down), float(up), error, row.parent))
    given, series = iter(zip(rows, linear, strict=True)), []
    for each in first.series:
        kept = [row for row, is_mean in [next(given) for _ in each.rows] if is_mean]
        if kept or not each.rows:
            series.append(Series(each.heading, tuple(kept)))
    reports = sum(own.estimate.reports for _, own in found)
    worth = 1 / math.fsum(share**2 / own.effective for share, own in found)
    return replace(first, reports=reports, series=tuple(series), devices=None, note=""), worth


def checked(values: Sequence[str], shares: Mapping[str, float], name: str) -> dict[str, float]:
    """The shares of a segment's values; a ValueError where they can not be those of a population."""
    for value, share in shares.items():
        if value not in values:
            raise NotKnownError(f"no segment {name}={value}; known: {name}={'|'.join(values)}")
        if not 0 <= share <= 1:
            raise ValueError(f"a share of the population lies between 0 and 1, not {share}")
    if abs(math.fsum(shares.values()) - 1) > _NEAR:
        raise ValueError(f"the shares of {name} add up to {math.fsum(shares.values()):g}, not to 1")
    return {value: shares[value] for value in values if shares.get(value)}


async def weighted_answers(
    analyst: Analyst,
    collection: str,
    query: Query,
    name: str,
    shares: Mapping[str, float],
    metric: str | None,
    turn: Turn,
) -> list[Answer]:
    """The answers of one metric, or of all metrics, weighted by a segment; a ValueError where a stratum has no
    reports, of which nothing is known, and where rows are asked for that are not told."""
    about = analyst.catalog.collection(collection)
    strata = checked(analyst.values(collection, name), shares, name)
    if name in query.segment:
        raise ValueError(f"{name} is weighted, so that none of its values can be asked for alone")
    whole = await analyst.about(collection, query)
    versions, window, answers = await analyst.versions(whole), whole.window, []
    for each in analyst.metrics(about, metric):
        counted = []
        for value, share in strata.items():
            own = analyst.also(whole, replace(query, segment={**query.segment, name: value}))
            epochs = await analyst.counters(own, each, versions, turn)
            if not any(column.any() for epoch in epochs for column in epoch):
                raise ValueError(
                    f"{each.name} has no reports of {name}={value}, which is {share:.1%} of the population"
                )
            counted.append((share, epochs))
        estimate, worth = weighted(each, counted, query.confidence, query.target, query.asked, query.series)
        told = set(estimate.ids)
        if untold := next((row for row in query.asked if row not in told), None):
            raise ValueError(
                f"{each.name}: {untold.key}, of {untold.series}, is not told of weighted devices: "
                "it is no mean over devices, or nothing is known of it"
            )
        kept, fits, counts = chosen(each, estimate, query)
        bounds = window.start, window.stop - 1
        found = Answer(about, each, *bounds, query.segment, kept, worth, fits, counts, weighted_by=name)
        answers.append(replace(found, place=analyst.catalog.place(about, each.name), doubts=whole.doubts()))
    return answers
