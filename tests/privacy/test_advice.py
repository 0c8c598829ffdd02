"""What the author of a mechanism is told where its cases can not be judged."""

from __future__ import annotations

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import BitwiseResponse
from privacy.channels import WALKED, exact_channel
from privacy.sampling import design


def test_inputs_whose_chances_do_not_depend_on_epsilon_are_refused() -> None:
    """Equal rows tell nothing: no number of reports is enough, and other inputs are to be taken. A row that is off by
    rounding is equal, too; one that is 5% off is not."""
    even, rounded, off = [0.5, 0.5], [0.5 + 1e-16, 0.5 - 1e-16], [0.525, 0.475]
    for same in (even, rounded):
        with pytest.raises(AssertionError, match=r"the same whatever epsilon is.* take other inputs"):
            design([0, 1], [even, even], [same, same], 1e-6)
    assert design([0, 1], [even, even], [even, off], 1e-6).reports > 10_000


def test_a_channel_that_takes_minutes_to_walk_is_refused_with_what_to_do() -> None:
    """With every flag there are four times as many chances."""
    assert len({exact_channel(BitwiseResponse(Epsilon.of(1), flags)).whole for flags in (1, 2)}) == 2
    with pytest.raises(AssertionError, match=rf"of 262,144 chances.* up to {WALKED:,} are walked.*stated_channel"):
        exact_channel(BitwiseResponse(Epsilon.of(1), 9))
