"""The lecture on the census: what the printed table says when its cells are counted, and what is made again."""

from __future__ import annotations

from examples.lectures.census import PRINTED, again, claims


def test_the_printed_table_by_its_cells() -> None:
    """Nothing is broken after the program; it is worse in 7 of 36 cells, never at level 2; cumulative counts with it
    beat counts in all 18 and are the best in 16."""
    assert PRINTED.shape == (3, 4, 2, 4)
    assert claims() == (0, 7, True, 18, 16)


def test_which_way_is_better_is_made_again() -> None:
    """On a tree of one's own (one draw, which is known): the program breaks nothing and counts do; counties are
    nearer than as counted; with known totals and cumulative counts nothing is broken either."""
    for _, name, errors in again(1):
        assert (errors[3] == 0) == (name in {"program", "sums, with totals"})
    by_name = {(epsilon, name): errors for epsilon, name, errors in again(1)}
    for epsilon in (0.1, 0.5, 1.0):
        assert by_name[epsilon, "program"][2] < by_name[epsilon, "as counted"][2]
        assert by_name[epsilon, "sums, with totals"][2] < by_name[epsilon, "as counted"][2]
