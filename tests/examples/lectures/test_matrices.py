"""Matrices: what their rows keep, and that nothing that is done to a result makes it more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from examples.lectures._tables import lost, worst

from examples.lectures import matrices


def test_a_matrix_keeps_what_its_rows_say() -> None:
    """Mechanisms of the system keep what they claim; rows without chance keep nothing, and a constant all."""
    own = {name: worst(table) for name, table in matrices.mechanisms().items()}
    assert own["two coins"] == pytest.approx(math.log(3))
    assert own["one of four"] == pytest.approx(1)
    assert own["counts up to 6"] == pytest.approx(1)
    assert own["always the same"] == 0
    assert own["the input itself"] == math.inf


def test_a_result_that_one_input_alone_can_have_breaks_every_epsilon() -> None:
    """All with one in a hundred, or nothing: no epsilon, and a delta of .01 at every one."""
    table = matrices.all_or_nothing(0.01)
    assert worst(table) == math.inf
    assert [lost(table, epsilon) for epsilon in (0.0, 1.0, 10.0)] == pytest.approx([0.01] * 3)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_done_to_a_result_is_free(seed: int) -> None:
    """Whatever matrix comes after it, epsilon and every delta grow no greater."""
    generator = np.random.default_rng(seed)
    for name, table in matrices.mechanisms().items():
        after = generator.dirichlet(np.ones(3), size=table.shape[1])
        if worst(table) < math.inf:
            assert worst(table @ after) <= worst(table) + 1e-9, name
        for epsilon in (0.0, 0.3, 1.0):
            assert lost(table @ after, epsilon) <= lost(table, epsilon) + 1e-12


def test_one_mechanism_has_many_pairs() -> None:
    """Delta falls from the total variation to 0 at the epsilon that it keeps."""
    table = matrices.mechanisms()["two coins"]
    curve = [lost(table, epsilon) for epsilon in (0.0, 0.5, 1.0, math.log(3))]
    assert curve == sorted(curve, reverse=True)
    assert curve[0] == 0.5
    assert curve[-1] == pytest.approx(0, abs=1e-12)


def test_answers_add_up_whichever_is_asked_next() -> None:
    """Of two bits, the second question by the first answer: every row is a law, and the worst ratio is 9, as of two
    questions that are fixed."""
    coins = matrices.mechanisms()["two coins"]
    table = matrices.adaptive(coins)
    assert table.sum(axis=1) == pytest.approx(1)
    assert worst(table) == pytest.approx(2 * math.log(3)) == worst(np.kron(coins, coins))
