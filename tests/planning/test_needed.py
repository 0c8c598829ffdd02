"""What a width takes: found by looking, enough, and no more than that; and widths that are in their order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tools.fleets import cases

from deniable import Collection
from deniable_aggregator.planning.needed import MOST_DEVICES, at_epsilon, devices_for, epsilon_for, part_at
from deniable_aggregator.planning.otherwise import named, otherwise
from support.asked import asked

HEAD = (
    '[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 100\n[metrics.one]\ndescription = "d"\n'
)
EXACT = (
    'kind = "boolean"', 'kind = "boolean"\nmemoize = true', 'kind = "category"\nvalues = ["a", "b", "c", "d", "e"]',
    'kind = "set"\nvalues = ["a", "b", "c"]\nmax_items = 2', 'kind = "flags"\nflags = ["a", "b", "c"]',
    'kind = "number"\nrange = [0, 60]', 'kind = "count"\nmax = 20', 'kind = "ordinal"\nvalues = ["a", "b", "c"]',
    'kind = "text"\nmax_bytes = 8',
)  # fmt: skip
"""Of kinds that are not simulated."""
LOOKED_FOR = [pytest.param(each, marks=pytest.mark.deep) if "count" in each else each for each in EXACT]
"""A count is answered by the mechanism of a number."""


def loaded(question: str, epsilon: str = "1") -> Collection:
    """A collection of one question."""
    return Collection.loads(f"{HEAD}{question}\nepsilon = {epsilon}\n")


@pytest.mark.parametrize("question", LOOKED_FOR)
def test_what_is_found_is_enough_and_hardly_less_would_be(question: str) -> None:
    """At so many devices, and at that epsilon, the widest row is told as wanted; at 3% less of either it is not."""
    collection = loaded(question)
    metric, wanted = collection.metrics["one"], 0.05
    devices = devices_for(metric, wanted)
    assert devices.ordered
    assert devices.least is not None
    part, less = part_at(metric, round(devices.least)), part_at(metric, int(0.97 * devices.least))
    assert part is not None
    assert less is not None
    assert part <= wanted < less
    fleet = 4 * round(devices.least)
    epsilon = epsilon_for(collection, metric, wanted, fleet)
    assert epsilon.ordered
    assert epsilon.least is not None
    assert epsilon.least < 1
    parts = [part_at(at_epsilon(collection, metric, times * epsilon.least), fleet) for times in (1, 0.97)]
    assert parts[0] is not None
    assert parts[1] is not None
    assert parts[0] <= wanted < parts[1]


@pytest.mark.parametrize("question", LOOKED_FOR)
def test_more_devices_and_larger_epsilons_never_tell_less(question: str) -> None:
    """What bisection rests on: over six decades of devices, and from epsilon 0.05 to 16."""
    collection = loaded(question)
    metric = collection.metrics["one"]
    devices = [part_at(metric, round(10 ** (1 + power / 2))) for power in range(13)]
    epsilons = [part_at(at_epsilon(collection, metric, 0.05 * 2**power), 10_000) for power in range(9)]
    for parts in (devices, epsilons):
        assert all(one is not None and two is not None and two <= 1.01 * one for one, two in pairwise(parts)), parts


def test_what_is_simulated_is_found_as_well() -> None:
    """A tree; and a distribution of four buckets, of which no fleet tells a quantile to less than half of one."""
    every = {case.name: case.metric for case in cases("1") if case.fleet.name == "uniform"}
    found = devices_for(every["tree of 5"], 0.05)
    assert found.least is not None
    part, less = part_at(every["tree of 5"], round(found.least)), part_at(every["tree of 5"], int(0.9 * found.least))
    assert part is not None
    assert less is not None
    assert part <= 0.05 < less
    assert devices_for(every["distribution of 4"], 0.12).least is None


def test_where_nothing_is_enough_it_says_so() -> None:
    """A count without an end has no part; ten devices are too few at any epsilon, and one is enough for little."""
    open_count = asked("count", 'privacy_unit = "event"\nepsilon = 1')
    assert devices_for(open_count, 0.5).least is None
    collection = loaded('kind = "boolean"')
    assert epsilon_for(collection, collection.metrics["one"], 0.01, 10).least is None
    assert devices_for(collection.metrics["one"], 0.6).least == 1
    assert devices_for(loaded('kind = "boolean"', "0.000001").metrics["one"], 1e-5).least is None
    assert MOST_DEVICES == 10**12


def test_flags_whose_epsilons_are_said_one_by_one_have_no_other() -> None:
    """Their own key says what they cost."""
    collection = Collection.loads(f'{HEAD}kind = "flags"\nflags = ["a", "b"]\nper_flag_epsilon = 1\n')
    assert epsilon_for(collection, collection.metrics["one"], 0.01, 1_000).least is None


@pytest.mark.parametrize("question", [*EXACT, 'kind = "number"\nrange = [0, 1]\nmechanism = "laplace"'])
def test_a_metric_asked_as_it_is_asked_is_the_same(question: str) -> None:
    """Also where the file names the mechanism, and where answers are remembered; at another epsilon it is what a file
    with that epsilon says."""
    collection, other = loaded(question), loaded(question, "0.5")
    metric = collection.metrics["one"]
    assert otherwise(collection, metric) == metric
    assert at_epsilon(collection, metric, 0.5).columns == other.metrics["one"].columns
    assert at_epsilon(collection, metric, 0.5).instantaneous == other.metrics["one"].instantaneous
    assert named(metric) == ("laplace" if "laplace" in question else "auto")


def test_a_second_epsilon_that_the_file_says_stays() -> None:
    """The first one alone is another."""
    collection = loaded('kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = 0.3')
    metric = at_epsilon(collection, collection.metrics["one"], 2.0)
    assert float(metric.epsilon) == 2
    assert metric.instantaneous is not None
    assert np.isclose(float(metric.instantaneous), 0.3)
