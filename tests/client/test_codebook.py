"""Codebooks: the same codewords on every machine, of entries that are normal as far as a vector can tell."""

from __future__ import annotations

import math
import struct
from hashlib import sha256

import pytest

from deniable import codebook
from deniable.payload import Codeword


def test_the_table_is_the_same_everywhere() -> None:
    """Its digest; and none of its entries is so near to halfway that a logarithm of another machine could round it to
    another integer: that differs in the sixteenth digit, which is the tenth behind the point."""
    table = codebook.table()
    digest = sha256(struct.pack(f"<{codebook.PARTS}i", *map(int, table))).hexdigest()
    assert digest == "1703ef3d27d52f0a9a9497a4fcf266d25758d8f9c0294accf2b5285dff4c6788"
    assert min(abs(entry - math.floor(entry) - 0.5) for entry in codebook.unrounded()) > 1e-7


def test_the_table_is_symmetric_and_has_no_zero() -> None:
    """So no codeword is without a direction, and none is likelier than the one that lies opposite."""
    table = codebook.table()
    assert len(table) == codebook.PARTS == 1 << 16
    assert [-entry for entry in table[::-1]] == list(table) == sorted(table)
    assert min(map(abs, table)) == 1


def test_entries_have_the_moments_of_normal_ones() -> None:
    """The second, fourth and sixth are 1, 3 and 15 to a thousandth; 256 parts would have 14.2 for the sixth."""
    deviation = 1 << 16
    for order, moment in ((2, 1), (4, 3), (6, 15)):
        mean = math.fsum((entry / deviation) ** order for entry in codebook.table()) / codebook.PARTS
        assert mean == pytest.approx(moment, rel=2e-3)


@pytest.mark.parametrize("entries", [2, 17, 85, 86, 256, 257, 1025])
def test_one_codeword_is_that_of_the_whole_book(entries: int) -> None:
    """Whether a page has many codewords or one: what the aggregator makes is what the device has looked at."""
    book = [place for page in codebook.codebook(7, 130, entries) for place in page]
    assert b"".join(codebook.pages(7, 130, entries)) == struct.pack(f"<{len(book)}H", *book)
    for number in (0, 1, 2, 64, 127, 128, 129):
        words = struct.unpack(f"<{entries}H", codebook.codeword(7, number, entries))
        assert list(words) == book[number * entries : (number + 1) * entries]


def test_seeds_and_numbers_make_other_codewords() -> None:
    """No two of a thousand are the same, the largest seed among them."""
    seeds = (0, 1, 255, 256, (1 << 40) - 1)
    assert len({codebook.codeword(seed, number, 9) for seed in seeds for number in range(200)}) == 1000


def test_a_codeword_of_another_implementation_would_be_the_same() -> None:
    """The bytes of one, in the middle of a page and alone on one."""
    assert codebook.codeword(258, 3, 4).hex() == "bfa37d2f5831933d"
    assert (
        sha256(codebook.codeword((1 << 40) - 2, 255, 300)).hexdigest()
        == "7157306dd4be32dc9f2ac8d4b5a8b4fd95aa1a4512bf33ecc078315a86c98ed5"
    )
    assert Codeword(299, 256, 1 << 40).counters == 599
