"""Payload shapes: what fits, how many counters it takes, and what is no shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deniable.payload import Bitmap, Codeword, Integer, Integers, Shape, Symbol


@pytest.mark.parametrize(
    ("shape", "counters", "wide"),
    [
        (Symbol(2), 2, False),
        (Symbol(1 << 48), 1 << 48, False),
        (Bitmap(1), 2, False),
        (Bitmap(48, 13), 49, False),
        (Bitmap(49), 50, True),
        (Integer(2), 4, False),
        (Integer(1 << 32), 4, False),
        (Integers(1, 1), 4, True),
        (Integers(100, (1 << 31) - 1), 301, True),
        (Codeword(1, 2, 1), 3, False),
        (Codeword(1024, 256, 1 << 40), 2049, False),
    ],
    ids=str,
)
def test_a_shape_says_its_counters_and_its_row(shape: Shape, counters: int, wide: bool) -> None:
    """Symbols count occurrences; the others have a counter for reports, and theirs; 48 bits fit an eight-byte row."""
    assert shape.counters == counters
    assert shape.wide is wide


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (Symbol, (1,)),
        (Symbol, ((1 << 48) + 1,)),
        (Bitmap, (0,)),
        (Bitmap, (5, 0)),
        (Bitmap, (5, 5)),
        (Bitmap, (5, -1)),
        (Integer, (1,)),
        (Integer, ((1 << 32) + 1,)),
        (Integers, (0, 1)),
        (Integers, (1, 0)),
        (Integers, (1, 1 << 31)),
        (Codeword, (0, 2, 1)),
        (Codeword, (3, 1, 2)),
        (Codeword, (3, 2, 0)),
    ],
)
def test_what_tells_nothing_or_does_not_fit_is_no_shape(
    make: Callable[..., Shape], arguments: tuple[int, ...]
) -> None:
    """Each is refused with what was given."""
    with pytest.raises(ValueError, match=f"not ({'|'.join(map(str, arguments))})$"):
        make(*arguments)


def test_sums_of_squares_stay_exact() -> None:
    """2^31 reports of the largest payload keep both limbs of its square within 63 bits."""
    largest = Integer(1 << 32).size - 1
    low, high = largest**2 % (1 << 32), largest**2 >> 32
    assert (1 << 31) * max(low, high) < 1 << 63
