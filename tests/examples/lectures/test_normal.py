"""Normal noise: the exact deviation, the textbook's, and the one that is misprinted."""

from __future__ import annotations

import pytest

from examples.lectures import normal


def test_the_textbook_is_enough_and_the_misprint_is_not() -> None:
    """Golden: 4.844805 at epsilon 1 and delta 10^-5, and 3.425795, whose delta is 3.736 10^-5."""
    assert normal.classical(1.0) == pytest.approx(4.844805, abs=5e-7)
    assert normal.misprinted(1.0) == pytest.approx(3.425795, abs=5e-7)
    assert normal.truly(normal.classical(1.0), 1.0) < 1e-5
    assert normal.truly(normal.misprinted(1.0), 1.0) == pytest.approx(3.736e-5, rel=5e-4)


def test_the_misprint_is_far_off_at_small_epsilons() -> None:
    """10.83 for 48.45 at .1: delta is 688 times what is said. Read as a deviation it is 11.74 at 1, and safe."""
    assert (normal.misprinted(0.1), normal.classical(0.1)) == pytest.approx((10.83, 48.45), abs=5e-3)
    assert normal.truly(normal.misprinted(0.1), 0.1) == pytest.approx(688e-5, rel=1e-3)
    assert normal.as_deviation(1.0) == pytest.approx(11.74, abs=5e-3)
    assert normal.truly(normal.as_deviation(1.0), 1.0) < 1e-5


def test_the_textbook_fails_at_large_epsilons() -> None:
    """2.27 10^-5 at epsilon 10, for 10^-5."""
    assert normal.truly(normal.classical(10.0), 10.0) == pytest.approx(2.27e-5, rel=3e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_system_takes_what_is_enough_and_no_more(epsilon: float) -> None:
    """To one in a million."""
    assert normal.truly(normal.exact(epsilon), epsilon) == pytest.approx(1e-5, rel=1e-4)
