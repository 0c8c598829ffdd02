"""Linking: which reports of different epochs are one device's, by what it remembers and by answers that stay.

The attackers here know everything but who sends what: every answer's share, every channel, and the strongest of them
also what each device remembers. What they find is held against the bits that `deniable check` states.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from attacks.linkers import DEVICES, EPOCHS, Fleet, followed, recognised
from deniable import Collection, linkage
from deniable.epsilon import Epsilon
from deniable.mechanisms import (
    BitwiseResponse,
    Hybrid,
    Mechanism,
    MemoizedBitwise,
    MemoizedSubset,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
)
from deniable.randomness import word
from deniable_aggregator.commands import main
from deniable_aggregator.planning.check import findings, linked
from support.asked import LINKABLE, asked

FALSE_ALARM = 1e-6
_Floats = NDArray[np.float64]


def names(count: int) -> str:
    """The values of a category."""
    return f"values = {[f'v{number}' for number in range(count)]}\n"


KINDS = {
    "boolean": ("boolean", ""),
    "category of 5": ("category", names(5)),
    "category of 16": ("category", names(16)),
    "category of 48": ("category", names(48)),
    "category of 200": ("category", names(200)),
    "ordinal": ("ordinal", names(5)),
    "number": ("number", "range = [0, 480]\n"),
    "count": ("count", "max = 50\n"),
    "flags of 10": ("flags", f"flags = {[f'f{number}' for number in range(10)]}\n"),
    "set": ("set", names(20) + "max_items = 5\n"),
}
MEMO = "epsilon = 1.0\nmemoize = true\n"
APP = f'[metrics.app]\nkind = "category"\ndescription = "d"\n{names(48)}{MEMO}'
BETA = f'[metrics.beta]\nkind = "boolean"\ndescription = "d"\n{MEMO}'
DARK = '[metrics.dark]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
HEAD = '[collection]\nname = "f"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = {budget}\nlifetime = 9999\n'


def fleet_of(metrics: str, budget: int = 15) -> Collection:
    """A collection of these metrics."""
    return Collection.loads(HEAD.format(budget=budget) + metrics)


# What is stated: the bits, exactly.


@pytest.mark.parametrize(
    ("kind", "more", "bits"),
    [
        (*KINDS["category of 5"], 1.99),
        (*KINDS["category of 16"], 10.48),
        (*KINDS["category of 48"], 37.14),
        (*KINDS["category of 200"], 8.17),
        (*KINDS["flags of 10"], 4.04),
        (*KINDS["boolean"], 0.72),
        ("number", 'range = [0, 480]\nmechanism = "laplace"\n', 10.91),
        ("vector", 'dimensions = 8\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"\n', 128.0),
        ("vector", 'dimensions = 8\nclip = 1\nnorm = "l2"\n', 47.68),
    ],
)
def test_what_a_repeated_answer_gives_away(kind: str, more: str, bits: float) -> None:
    """The bits of a collision, where a file asks for repetition by its word; nothing else is repeated."""
    assert linkage.bits(asked(kind, more + MEMO + LINKABLE)) == pytest.approx(bits, abs=0.02)


@pytest.mark.parametrize("name", ["boolean", "category of 5", "flags of 10", "set", "category of 200"])
def test_devices_with_one_answer_repeat_each_other_as_often_as_stated(name: str) -> None:
    """Of 4,000 devices with the same answer, pairs that remember the same: within 6 standard errors.

    With a bit more or less there would be half or twice as many. (A false alarm takes chance once in 10^8 runs.)
    """
    kind, more = KINDS[name]
    metric = asked(kind, more + MEMO + LINKABLE)
    value = metric.kind.check(metric.kind.apart()[1])
    sent = [(report.column, report.payload) for report in (metric.randomize(value) for _ in range(4000))]
    counts = np.unique(np.array(sent), axis=0, return_counts=True)[1]
    chance = 2.0 ** -linkage.bits(metric)
    pairs = len(sent) * (len(sent) - 1) / 2
    spread = math.sqrt(pairs * chance + 4 * len(sent) ** 3 * _third(counts / len(sent), chance))
    assert abs((counts * (counts - 1) / 2).sum() - pairs * chance) < 6 * spread < 0.4 * pairs * chance


def _third(shares: _Floats, chance: float) -> float:
    """The part of the variance that pairs with a device in common have."""
    return max(float((shares**3).sum()) - chance**2, 0.0)


SMALL: dict[str, tuple[Mechanism, int]] = {
    "boolean": (RandomizedResponse(Epsilon.of(2), 2), 2),
    "symbol": (RandomizedResponse(Epsilon.of(1), 5), 5),
    "subset": (SubsetSelection(Epsilon.of(1), 5, 2), 5),
    "points": (ProjectiveGeometryResponse(Epsilon.of(1), 7, 2, 3), 7),
    "band": (Hybrid(Epsilon.of(1), 13), 13),
    "bits": (BitwiseResponse(Epsilon.of(3), 3), 8),
}


def matrix(mechanism: Mechanism, inputs: int) -> _Floats:
    """P(payload | input), a row an input."""
    payloads = list(mechanism.payloads())
    return np.array([[float(mechanism.probability(y, x)) for y in payloads] for x in range(inputs)])


def named(mechanism: MemoizedSubset) -> _Floats:
    """P(payload | remembered), a row a subset of two."""
    pairs = [{a, b} for a in range(mechanism.answers) for b in range(a)]
    high, low = float(mechanism.high), float(mechanism.low)
    return np.array([[high if y in pair else low for y in range(mechanism.answers)] for pair in pairs])


def advantage(channel: _Floats, lasting: _Floats) -> float:
    """J, from its definition."""
    return float((lasting @ channel**2 / (lasting @ channel)).sum())


@pytest.mark.parametrize("name", SMALL)
def test_no_population_gives_more_away_than_is_stated(name: str) -> None:
    """J for 300 populations, some of them of a few answers, is at most what is stated; equal where all are alike.

    Two reports of one device tell less of each other than of what lasts.
    """
    mechanism, inputs = SMALL[name]
    told = mechanism.factor
    assert told is not None
    channel, generator = matrix(mechanism, inputs), np.random.default_rng(7)
    for _ in range(300):
        lasting = generator.dirichlet(np.full(inputs, generator.choice([0.1, 1.0, 10.0])))
        once = advantage(channel, lasting)
        both = channel.T @ (lasting[:, np.newaxis] * channel)
        payloads = lasting @ channel
        twice = float((both**2 / np.outer(payloads, payloads)).sum())
        assert twice - 1e-9 <= once <= float(told) + 1e-9
    if name != "band":  # the bands of the ends overlap less
        assert advantage(channel, np.full(inputs, 1 / inputs)) == pytest.approx(float(told), rel=1e-9)


def test_bits_of_a_batch_add_up_whatever_belongs_together() -> None:
    """J of two metrics, for memories that depend on each other: at most the product, which even ones reach."""
    first = MemoizedSubset(SubsetSelection(Epsilon.of(1), 5, 2), Epsilon.of(2))
    second = RandomizedResponse(Epsilon.of(3), 2)
    pairs = product(named(first), matrix(second, 2))
    channel = np.array([np.outer(a, b).ravel() for a, b in pairs])
    factors = [each.factor for each in (first, second)]
    told = float(math.prod(factor for factor in factors if factor))
    generator = np.random.default_rng(8)
    for _ in range(1000):
        lasting = generator.dirichlet(np.full(len(channel), generator.choice([0.05, 0.3, 1.0])))
        assert advantage(channel, lasting) <= told + 1e-9
    assert advantage(channel, np.full(len(channel), 1 / len(channel))) == pytest.approx(told, rel=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_fresh_noise_over_what_is_remembered_is_what_its_bits_say(name: str) -> None:
    """20,000 reports of one memory: J is the number of payloads times how often two of them are the same.

    It lies within 5.5 standard errors of what is stated, and the bits are the metric's share: a half. (A false alarm:
    once in 2 million runs for all kinds.)
    """
    kind, more = KINDS[name]
    metric = asked(kind, more + MEMO)
    (column,) = metric.columns
    bits = linkage.bits(metric)
    assert 0.499 < bits <= 0.5
    mechanism = column.mechanism
    remembered = mechanism.remember(metric.encode(metric.kind.check(metric.kind.apart()[0]), word)[1])
    count = 20_000
    sent = np.array([mechanism.renew(remembered) for _ in range(count)])
    payloads = 1 << 10 if isinstance(mechanism, MemoizedBitwise) else column.shape.counters
    shares = np.bincount(sent, minlength=payloads) / count
    measured = (shares @ shares - 1 / count) / (1 - 1 / count) * payloads
    spread = payloads * math.sqrt(
        2 * (shares @ shares) / count**2 + 4 * _third(shares, float(shares @ shares)) / count
    )
    assert abs(measured - 2**bits) < 5.5 * spread


@pytest.mark.parametrize("metrics", [1, 2, 3, 7, 40])
def test_the_bit_of_a_batch_is_divided(metrics: int) -> None:
    """However many metrics are memoised, together they tell at most one bit, and little less; check says nothing."""
    body = f'description = "d"\nkind = "category"\n{names(6)}{MEMO}'
    collection = fleet_of("".join(f"[metrics.m{number}]\n{body}" for number in range(metrics)), 40)
    remembered, _ = linkage.batch(collection)
    assert min(metrics, 2) / 2 - 0.01 < remembered <= linkage.BATCH
    assert not [each for each in findings(collection) if "remembered" in each]


def test_check_says_what_repetition_gives_away() -> None:
    """In bits, and from how many other devices it tells one; an epsilon that is too large is pointed out too."""
    plain = fleet_of(APP + LINKABLE + DARK)
    (warning,) = [each for each in findings(plain) if each.startswith("app")]
    assert "repeats what is remembered, 37.1 bits" in warning
    assert "from 151,728,307,639 others" in warning
    loose = fleet_of(APP + "instantaneous_epsilon = 2.0\n" + DARK)
    (warning,) = [each for each in findings(loose) if each.startswith("app")]
    assert "more than its share of 0.5" in warning
    assert "0.28 by fresh answers" in linked(loose)


def test_check_shows_the_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every metric, and of the batch."""
    file = tmp_path / "metrics.toml"
    file.write_text(HEAD.format(budget=15) + '[segments]\nos = ["a", "b", "c", "d"]\n' + APP + BETA + DARK)
    assert main(["check", str(file)]) == 0
    told = capsys.readouterr().out
    assert told.count("0.50 remembered") == 2
    assert (
        "Bits by which a batch tells its device from others, at most: 1.00 by what it remembers (no more than 1 is "
        "wise); 0.28 by fresh answers, if they stay the same; 2.00 by its segment, in the clear." in told
    )
    assert all("one fake device" in line for line in told.splitlines() if line.startswith("- "))


# What an attacker gets.
def findable(collection: Collection) -> float:
    """The chance, at most, with which the report of one of the devices is found by the bits that are stated."""
    bits = sum(linkage.batch(collection))
    return 1 / DEVICES + math.sqrt((2**bits - 1) / DEVICES)


def guessed(reports: int) -> float:
    """The chance of guessing an even bet right from so many answers at epsilon 1 of one device."""
    p = 1 / (1 + math.exp(-1))
    return float(stats.binom.sf(reports / 2, reports, p) + stats.binom.pmf(reports / 2, reports, p) / 2)


def test_repetition_lets_every_device_be_followed() -> None:
    """The attack works where it can: by a repeated category of 48, all of 400 devices are followed through 60 epochs,
    and what they answer afresh beside it is guessed from 60 answers instead of one."""
    right, guesses = followed(Fleet(fleet_of(APP + LINKABLE + BETA + LINKABLE + DARK)))
    assert right > 0.999
    assert guesses >= DEVICES - 2


WITHIN = {
    "a category and a boolean": APP + BETA,
    "a boolean": BETA,
    "eight booleans": "".join(BETA.replace("beta", f"beta{number}") for number in range(8)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_within_a_bit_nobody_is_followed(name: str) -> None:
    """What check has nothing against: reports are found as the stated bits allow, and not more often, even by someone
    who knows all that every device remembers and answers; the tracker, who does not, finds fewer yet.

    Of 60 reports of a device one or two are found, and fresh answers are guessed as from so many: at epsilon 1 in
    73.1% of all cases, from one as from two. All together raise a false alarm once in a million runs: the bounds lie
    40 standard errors above what is found, and of guesses the limit is that of the binomial distribution.
    """
    collection = fleet_of(WITHIN[name] + DARK)
    assert all("one fake device" in each for each in findings(collection)), "nothing about who has sent it"
    fleet = Fleet(collection)
    found = max(recognised(fleet))
    assert found <= findable(collection)
    right, guesses = followed(fleet)
    assert right <= findable(collection)
    assert 1 + (EPOCHS - 1) * max(found, right) < 2.5
    assert guesses <= stats.binom.isf(FALSE_ALARM / len(WITHIN), DEVICES, guessed(2))
