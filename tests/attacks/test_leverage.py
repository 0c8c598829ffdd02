"""What one fake device can do: all that ingest takes, whatever no honest device would send, moves an estimate no
farther than is stated.

Payloads go through ingest's own checks and sums and the estimators' arithmetic. What is stated is `leverage.gain`,
which `deniable check` shows and docs/privacy.md has a table of.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy import stats
from tools.leverage import ASKED, asked, placed

from deniable import Metric, Report
from deniable.kinds import KINDS, Vector
from deniable.mechanisms import MECHANISMS, Gaussian, Supporting
from deniable.mechanisms._entries import pack
from deniable.payload import Bitmap, Codeword, Integer, Integers, Shape, Symbol
from deniable.wire.rows import encode_rows, encode_wide_rows
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import Measure, answer
from deniable_aggregator.codebook import directions
from deniable_aggregator.commands import main
from deniable_aggregator.ingest import Layout
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows, faults
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.store import EpochKey
from mechanisms.registered import beside

EPSILONS = ("0.5", "1", "4")
NAMES = list(ASKED)
METRICS = {(name, epsilon): asked(name, epsilon) for name in NAMES for epsilon in EPSILONS}
"""What the page's table has, and what mechanisms ask that have no line there."""
METRICS |= {(own.name, epsilon): metric
            for epsilon in EPSILONS for own, metric in beside(list(METRICS.values()), epsilon)}  # fmt: skip
PAGE = Path(__file__).resolve().parents[2] / "docs" / "privacy.md"


@cache
def looked_up(shapes: tuple[Shape, ...]) -> Lookup:
    """A layout in which each column is a metric."""
    return Lookup(Layout("one", 0, 1, 1, tuple((f"m{place}", shape) for place, shape in enumerate(shapes))))


def taken(metric: Metric, report: Report) -> bool:
    """Whether ingest takes a batch of this report alone."""
    columns = metric.columns
    rows, wide_rows = encode_rows([report], columns), encode_wide_rows([report], columns)
    batch = Batch(b"", looked_up(tuple(column.shape for column in columns)), EpochKey(0, 0), 0, rows, wide_rows)
    bad = bool(Rows([batch]).malformed())
    assert bad == bool(faults(batch))
    return not bad


def payloads(metric: Metric, place: int) -> Iterator[int]:
    """Everything that could reach far: all symbols and integers and one beyond, bitmaps of few and of many bits, of
    vectors the ends of one entry and of all, of codewords those of a hundred thousand next to an axis."""
    shape, random = metric.columns[place].shape, Random(1)
    match shape:
        case Symbol(size) | Integer(size):
            yield from range(size + 3)
        case Bitmap(size) if size <= 12:
            yield from range(1 << size)
        case Bitmap(size, weight):
            own = weight or size
            for _ in range(30):
                yield sum(1 << bit for bit in random.sample(range(size), own))
            yield (1 << size) - 1
        case Integers(size, bound):
            for one in (bound, -bound, bound + 1, shape.norm or bound, (shape.norm or bound) + 2):
                yield pack([one, *[0] * (size - 1)])
            for part in (1.0, 0.999, 1.001, 0.5):
                longest = bound if shape.norm is None else shape.norm / math.sqrt(size)
                yield pack([int(part * longest)] * size)
        case Codeword() as shape:
            limit = shape.seeds * shape.codewords
            sent = np.array([*(random.randrange(limit) for _ in range(100_000)), limit - 1], dtype=np.uint64)
            along = directions(shape, sent)
            yield from sent[np.unique([*along.argmax(axis=0), *along.argmin(axis=0)])].tolist()
            yield from (0, limit - 1, limit, (1 << 48) - 1)


def contributions(metric: Metric) -> list[list[tuple[float, Measure]]]:
    """For every report that ingest takes, what each row would be if it were the only one."""
    found: list[list[tuple[float, Measure]]] = []
    for place, column in enumerate(metric.columns[:1]):
        for payload in payloads(metric, place):
            report = Report(column.number, payload)
            if taken(metric, report):
                series = answer(metric, accumulate(metric, [report])).series
                told = [own for own in series if own.heading.measure is not Measure.TOTAL]
                found.append([(row.value, own.heading.measure) for own in told for row in own.rows])
    return found


def ends(metric: Metric, measure: Measure) -> tuple[float, float]:
    """The least and the greatest that a row can truly be."""
    kind = metric.kind
    if measure is Measure.SHARE:
        return 0.0, 1.0
    if isinstance(kind, Vector):
        return -float(kind.clip), float(kind.clip)
    return kind.ends if hasattr(kind, "ends") else (1.0, float(metric.columns[0].shape.counters))


def measured(metric: Metric) -> tuple[float, float]:
    """The farthest that a report that is taken moves one row, and all rows: in ranges, from the farthest truth."""
    row = together = 0.0
    columns = len(metric.columns)
    for rows in contributions(metric):
        shares = [(value, *ends(metric, measure)) for value, measure in rows]
        moves = [max(value - low, high - value) / (high - low) for value, low, high in shares[: _told(metric)]]
        row = max([row, *moves])
        if isinstance(metric.kind, Vector):
            length = math.hypot(*(value for value, _, _ in shares)) / float(metric.kind.clip)
            together = max(together, (length + 1) / 2)
        else:
            ups = [value for value, measure in rows if measure is Measure.SHARE and value > 0]
            together = max(together, sum(ups), row)
    return columns * row, columns * max(together, row)


def _told(metric: Metric) -> int | None:
    """The rows that are meant: of a quantity the mean, which a standard deviation follows."""
    return 1 if hasattr(metric.kind, "ends") else None


OTHERS = ("10 flags, one drawn", "distribution", "text", "tree", "joint", "vector of 64, codewords")
SMALL = [
    name for name in dict.fromkeys(name for name, _ in METRICS) if "1,000" not in name and not name.startswith(OTHERS)
]


# Of 64 entries nobody finds a codeword that lies along one of them: of three, a hundred thousand show it.
# Distributions, trees and texts are made of all columns: `test_levels.py`, `test_nodes.py` and `test_words.py` have
# what moves them.
# Conditionals are ratios: `test_joints.py` has what moves a joint.
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", SMALL)
def test_nothing_that_is_taken_moves_an_answer_farther_than_stated(name: str, epsilon: str) -> None:
    """And something moves it just as far: to one part in 10^6, of vectors to what whole steps leave of it."""
    metric = METRICS[name, epsilon]
    row, together = measured(metric)
    stated = gain(metric)
    assert row == pytest.approx(stated.row, rel=1e-3 if isinstance(metric.kind, Vector) else 1e-6)
    assert together <= stated.together * (1 + 1e-6)
    if "projective" not in name:
        assert together >= stated.together * (1 - 2e-3)


def test_of_drawn_flags_a_fake_chooses_one() -> None:
    """Among a billion honest devices with no flag, of whom as many report each as are expected to, fakes that all
    answer the first one move it by 15.8 / n each, to 1%: ten times as far as if all devices answered it."""
    metric, many, fakes = asked("10 flags, one drawn", "1"), 10**9, 10**5
    (mechanism,) = {column.mechanism for column in metric.columns}
    assert isinstance(mechanism, Supporting)
    own = many // len(metric.columns)
    lies = round(own * mechanism.q)
    counters = [np.array([own - lies, lies]) for _ in metric.columns]
    before = answer(metric, counters).rows[0].value
    counters[0] = counters[0] + np.array([0, fakes])
    moved = (answer(metric, counters).rows[0].value - before) * many / fakes
    assert moved == pytest.approx(gain(metric).row, rel=0.01)
    assert moved == pytest.approx(15.8, abs=0.1)


@pytest.mark.parametrize("name", ["number, Laplace", "vector of 64, l1", "set of 5 of 20, randomized response"])
def test_a_fleet_is_moved_as_far_as_one_report_says(name: str) -> None:
    """500 honest devices at the lowest value and one fake: the estimate moves by the contribution over n, exactly."""
    metric = asked(name, "1")
    lowest = metric.kind.apart()[1]
    honest = [metric.randomize(lowest) for _ in range(500)]
    theirs = accumulate(metric, honest)
    first = answer(metric, theirs)
    before, (low, high) = first.rows[0].value, ends(metric, first.headings[0].measure)
    moves = []
    for payload in itertools.islice(payloads(metric, 0), 2000):
        report = Report(metric.columns[0].number, payload)
        if taken(metric, report):
            together = [one + other for one, other in zip(theirs, accumulate(metric, [report]), strict=True)]
            moves.append(abs(answer(metric, together).rows[0].value - before) * 501 / (high - low))
    noise = abs(before - low) / (high - low)
    assert max(moves) <= gain(metric).row + noise + 1e-9


def test_no_report_by_noise_reaches_forty_ranges() -> None:
    """It was shown to be 41 ranges of a number, 649 (l1) and 1,192 clips (l2) of a vector of 64 entries."""
    assert measured(asked("number, Laplace", "1"))[0] < 3.01
    for name, clips in (("vector of 64, l1", 40.5), ("vector of 64, l2", 118)):
        assert 2 * measured(asked(name, "1"))[1] - 1 < clips


def test_honest_vectors_are_not_refused() -> None:
    """600 reports of the longest vectors are taken, and the norm is where chi-square has 2^-40 left, or farther.

    A norm half as long would refuse every one of them.
    """
    metric = asked("vector of 64, l2", "1")
    (column,) = metric.columns
    mechanism = column.mechanism
    assert isinstance(mechanism, Gaussian)
    for value in ([1.0] + [0.0] * 63, [0.125] * 64):
        assert all(taken(metric, metric.randomize(value)) for _ in range(300))
    for dimensions in (1, 2, 64, 4096):
        other = Gaussian(mechanism.epsilon, mechanism.delta, dimensions, 1000)
        deviations = (other.norm - other.bound) / math.sqrt(other.spread)
        assert stats.chi2.logsf(deviations**2, dimensions) < -40 * math.log(2)
        assert stats.chi2.logsf((0.8 * deviations) ** 2, dimensions) > -60 * math.log(2)
        assert 2 * stats.norm.sf((other.end - other.bound) / math.sqrt(other.spread)) < 2.0**-24


def test_the_table_on_the_page_is_that_of_the_code() -> None:
    """`python -m tools.leverage --write` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert placed(page) == page


def test_every_kind_and_every_mechanism_is_looked_at() -> None:
    """In the table or by its cases; a new one that people are to see adds a line to tools/leverage.py."""
    assert {metric.kind.name for metric in METRICS.values()} == set(KINDS)
    assert {mechanism.name for metric in METRICS.values() for mechanism in metric.mechanisms} == set(MECHANISMS)


def test_check_shows_what_one_fake_can_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A column of the table; a finding where it is a hundred times what liars do, and for counts without max."""
    path = tmp_path / "metrics.toml"
    path.write_text(
        '[collection]\nname = "c"\nowner = "o"\nepoch = "1d"\n[budget]\nepoch = 9\n'
        '[metrics.yes]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
        f'[metrics.many]\ndescription = "d"\nepsilon = 1\n{ASKED["category of 1,000, randomized response"]}\n'
        '[metrics.errors]\nkind = "count"\nprivacy_unit = "event"\ndescription = "d"\nepsilon = 1\n',
        encoding="utf-8",
    )
    main(["check", str(path)])
    shown = capsys.readouterr().out
    assert "one fake" in shown
    assert "1.58" in next(line for line in shown.splitlines() if line.startswith("yes"))
    assert "- many: one fake device moves a row as far as 582 liars" in shown
    assert "- errors: without a max its mean has no upper end of an interval, and one device can move it" in shown
