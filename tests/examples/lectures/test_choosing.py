"""The exponential mechanism: its chances, its tail, and what it keeps with and without the 2."""

from __future__ import annotations

import pytest
from examples.lectures._tables import worst

from examples.lectures import choosing


def test_the_tail_is_within_its_bound() -> None:
    """Golden: of ten, at epsilon 1, less than 10.597 but for .05; and exactly, whatever is looked at."""
    assert choosing.within(10, 1.0, 0.05) == pytest.approx(10.597, abs=5e-4)
    assert choosing.tail_bound(10, 1.0, choosing.within(10, 1.0, 0.05)) == pytest.approx(0.05)
    for epsilon in (0.1, 0.5, 2.0):
        for far in range(1, 60):
            assert choosing.tail(choosing.LOSSES, epsilon, far) <= choosing.tail_bound(5, epsilon, far)


@pytest.mark.parametrize("outcomes", [2, 5, 100])
def test_without_the_2_it_keeps_up_to_twice_epsilon(outcomes: int) -> None:
    """With it no more than epsilon; without it 1.977 of 100 outcomes, and of two no more than is said."""
    assert choosing.moved_apart(1.0, outcomes, printed=False) <= 1
    wrong = choosing.moved_apart(1.0, outcomes, printed=True)
    assert wrong == pytest.approx(choosing.moved_apart(2.0, outcomes, printed=False))
    assert wrong == pytest.approx(1) if outcomes == 2 else wrong > 1.5
    if outcomes == 100:
        assert choosing.moved_apart(1.0, outcomes, printed=True) == pytest.approx(1.977, abs=5e-4)


@pytest.mark.parametrize("answers", [2, 5, 64])
def test_one_of_k_answers_is_randomized_response(answers: int) -> None:
    """Where the sum of the weights can not move, the 2 is not needed: the chances are those of the system."""
    epsilon, apart = choosing.of_answers(1.0, answers)
    assert epsilon == pytest.approx(1)
    assert apart < 1e-12


def test_neighbours_of_a_mode_keep_epsilon() -> None:
    """One visitor is from elsewhere: by how much a country is behind the first moves by 2 at most, and noise is for
    that."""
    numbers = list(choosing.VISITORS.values())
    for gone in range(len(numbers)):
        for came in range(len(numbers)):
            other = list(numbers)
            other[gone] -= 1
            other[came] += 1
            losses = [[max(each) - number for number in each] for each in (numbers, other)]
            assert max(abs(a - b) for a, b in zip(*losses, strict=True)) <= 2
            assert worst([choosing.chances(own, 0.5, 2.0) for own in losses]) <= 0.5
