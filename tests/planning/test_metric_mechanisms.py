"""No column stands for its metric: what is said of a metric goes by all of its mechanisms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deniable import Epsilon, Metric, linkage
from deniable.mechanisms import Exponential, Mechanism, RandomizedResponse
from deniable_aggregator.planning.leverage import gain
from support.asked import asked

WEAK, STRONG = (RandomizedResponse(Epsilon.of(epsilon), 2) for epsilon in (1, 2))


def of(*mechanisms: Mechanism) -> Metric:
    """A metric of which a device answers one of several columns."""
    drawn = asked("flags", 'flags = ["a", "b"]\nepsilon = 2.0\nmechanism = "randomized_response"')
    columns = tuple(replace(drawn.columns[0], number=place, mechanism=each) for place, each in enumerate(mechanisms))
    return replace(drawn, columns=columns)


def test_a_metric_names_each_of_its_mechanisms_once() -> None:
    """In the order of its columns."""
    assert of(WEAK, WEAK).mechanism == "randomized_response"
    assert of(WEAK, STRONG, WEAK).mechanisms == (WEAK, STRONG)
    assert of(WEAK, STRONG).mechanism == "randomized_response"
    assert of(WEAK, Exponential(Epsilon.of(1), 2)).mechanism == "randomized_response, exponential"


@pytest.mark.parametrize("mechanisms", [(WEAK, STRONG), (STRONG, WEAK)])
def test_what_tells_most_and_moves_farthest_counts(mechanisms: tuple[Mechanism, ...]) -> None:
    """Wherever it stands: bits are those of the column that tells most, a fake answers the one that it moves most."""
    assert linkage.bits(of(*mechanisms)) == linkage.bits(of(STRONG, STRONG)) > linkage.bits(of(WEAK, WEAK))
    assert gain(of(*mechanisms)) == gain(of(WEAK, WEAK))
    assert gain(of(*mechanisms)).row > gain(of(STRONG, STRONG)).row


def test_what_is_repeated_counts_where_it_is_rarest() -> None:
    """Of two columns that are repeated as they are, the one whose payloads collide least, and which column it is."""
    repeated = replace(of(WEAK, STRONG), memoize=True)
    alone = replace(of(WEAK, WEAK), memoize=True)
    assert linkage.repeats(repeated)
    assert linkage.bits(repeated) == linkage.bits(alone) == 1 + WEAK.collision > 1 + STRONG.collision
