"""Segments that are published beside the whole: what is left out of them can not be had by subtraction.

words:
  left out   of a segment: its value has reports, and its rows are not published
  hidden     of what is left out: of two segments or more, and of as many reports together as one has to have. The
             whole less all that is published is their sum, and tells nobody which of them has what

As statistical offices do it, the smallest of those that are large enough is left out with one that is alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deniable_aggregator.telling.tables import Table

__all__ = ["kept"]


def kept(found: Table, least: int) -> Table:
    """Of one metric's answers by segment, those that can be published: of so many reports at least."""
    reports = {row["segment"]: int(row["reports"]) for row in found}
    large = sorted((name for name, own in reports.items() if own >= least), key=lambda name: (reports[name], name))
    out = {name for name, own in reports.items() if 0 < own < least}
    while large and not _hidden(out, reports, least):
        out.add(large.pop(0))
    return Table(row for row in found if row["segment"] in large)


def _hidden(out: Iterable[str], reports: Mapping[str, int], least: int) -> bool:
    of_each = [reports[name] for name in out]
    return not of_each or (len(of_each) > 1 and sum(of_each) >= least)
