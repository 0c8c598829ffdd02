"""Reports of every mechanism, sound and made up, and the answers that come of them.

The first byte of an input chooses a metric; seven bytes each are a report of it, and how often it was sent.
"""

from __future__ import annotations

import math

from deniable import Report
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import Target as About
from deniable_aggregator.answers import answer
from deniable_aggregator.ingest import Layout
from fuzzing.target import Target
from fuzzing.targets.batches import narrow_payload, wide_payload
from planning.everything import EVERYTHING
from support.plain_rows import sums_of

__all__ = ["TARGET"]

_METRICS = [name for name in EVERYTHING.metrics if name != "word"]
"""Words are found by a search that takes a second; tests/attacks/test_words.py attacks it."""


def judge(data: bytes) -> str:
    """Counters are the sums of the reports; the answer has rows in order, each with an interval that is one."""
    if not data:
        return "nothing"
    metric = EVERYTHING.metrics[_METRICS[data[0] % len(_METRICS)]]
    columns = metric.columns
    layout = Layout("one", 1, 86_400, 1, tuple((metric.name, column.shape) for column in columns))
    counters = [accumulate(metric, ())[place] for place in range(len(columns))]
    for at in range(1, len(data) - 7, 8):
        number = data[at] % len(columns)
        shape, chance = columns[number].shape, int.from_bytes(data[at + 1 : at + 7], "little")
        told = wide_payload(shape, chance) if shape.wide else narrow_payload(shape, chance)
        report = Report(columns[number].number, told if isinstance(told, int) else int.from_bytes(told, "little"))
        own = accumulate(metric, [report])
        assert {place: int(amount) for place, amount in enumerate(own[number]) if amount} == {
            place: amount for place, amount in (sums_of(layout, number, told) or {}).items() if amount
        }
        for place, more in enumerate(own):
            counters[place] += more * (1 + data[at + 7])
    about = (About.POPULATION, About.REPORTING)[data[0] >> 7]
    found = answer(metric, counters, 0.95, about)
    for series in found.series:
        for row in series.rows:
            assert not row.low > row.high, row
            assert math.isnan(row.value) or not (math.isnan(row.low) or math.isnan(row.high)), row
    return "answered"


TARGET = Target(
    judge,
    lambda: [bytes([number, *(number * 7 * place % 251 for place in range(80))]) for number in range(len(_METRICS))],
    frozenset({"answered", "nothing"}),
    longest=400,
)
