"""Courses: what goes down, what becomes of steps, how sure the model is, and when nobody is asked any more."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from deniable_aggregator.learning import Course, Settings, Step

ERRORS = np.array([0.1, 0.2, 0.3])


def step(*mean: float, errors: float = 0.01) -> Step:
    """A step that is sure, unless it is not."""
    return Step(np.array(mean), np.full(len(mean), errors), 1_000)


def test_a_step_goes_as_far_as_rate_and_norm_say() -> None:
    """The weights that went down before stay known."""
    course = Course([1.0, 2.0], Settings(rate=10), norm=0.5)
    course.take(step(0.2, 0.0))
    course.take(step(0.0, -0.2))
    assert course.weights.tolist() == [2.0, 1.0]
    assert [each.tolist() for each in course.history] == [[1.0, 2.0], [2.0, 2.0], [2.0, 1.0]]
    course.weights[0] = 9
    assert course.weights[0] == 2, "who looks changes nothing"


def test_the_model_is_the_mean_of_the_last_weights() -> None:
    """Of half of the rounds, of as many as are said, or of none but the last; at first what it begins with."""
    ways = {0.5: 3.5, 1.0: 2.5, 0.25: 4.0, 0.0: 4.0}
    for averaged, model in ways.items():
        course = Course([0.0], Settings(averaged=averaged))
        assert course.model.tolist() == [0.0]
        assert course.errors.tolist() == [0.0]
        for _ in range(4):
            course.take(step(1.0))
        assert course.model.tolist() == [model]


@pytest.mark.parametrize("averaged", [0.0, 0.5, 1.0])
def test_errors_are_how_far_noise_moves_the_model(averaged: float) -> None:
    """Over 1,500 courses whose steps are noise alone: the deviation of each weight, which is known to 1.8%. A tenth
    more or less is chance once in 10^6 times at the most; a sixth is found."""
    generator = np.random.default_rng(1)
    models = []
    for _ in range(1_500):
        course = Course(np.zeros(3), Settings(rate=2, rounds=7, averaged=averaged, window=8), norm=3)
        for _ in range(7):
            course.take(Step(generator.normal(scale=ERRORS), ERRORS, 100))
        models.append(course.model)
    assert np.std(models, axis=0) == pytest.approx(course.errors, rel=0.1)


def test_it_ends_after_its_rounds() -> None:
    """A step more is a mistake: somebody was asked for nothing."""
    course = Course([0.0], Settings(rounds=2))
    for _ in range(2):
        assert course.ended == ""
        course.take(step(1.0))
    assert course.ended == "it had 2 rounds"
    with pytest.raises(RuntimeError, match="this course has ended: it had 2 rounds"):
        course.take(step(1.0))


def test_it_ends_where_steps_are_lost_in_their_noise() -> None:
    """One step that is lost does not end it, where those of the window together are not."""
    course = Course([0.0, 0.0], Settings(window=3))
    for own in (step(1.0, 1.0), step(0.0, 0.0, errors=0.5), step(0.6, 0.6, errors=0.5)):
        course.take(own)
    assert course.steps[1].lost
    assert course.ended == ""
    course.take(step(-1.0, -1.0, errors=0.5))
    assert course.ended == "the last 3 steps together are lost in their noise"


def test_how_often_it_ends_too_early_or_too_late() -> None:
    """Of 31 weights. Where the mean update is twice as long as the noise of a window, it ends once in a million
    windows; where there is nothing to learn, in all but 8 of 10,000. Over 5,000 windows: three or more of the first,
    or 20 or more that go on of the second, are chance once in 10^6 times at the most."""
    generator = np.random.default_rng(1)
    errors = np.full(31, 1 / math.sqrt(31))
    way = np.eye(31)[0]
    early = sum(Step(2 * way + generator.normal(scale=errors), errors, 9).lost for _ in range(5_000))
    late = sum(not Step(generator.normal(scale=errors), errors, 9).lost for _ in range(5_000))
    assert early < 3
    assert late < 20


def test_what_no_course_is_is_refused() -> None:
    """Each with what is right; settings stay as they were said."""
    for wrong in ({"rate": 0.0}, {"rate": math.inf}, {"rounds": 0}, {"window": 0}, {"averaged": 1.5}):
        with pytest.raises(ValueError, match=r"a rate|one round or more|a part of the rounds"):
            Settings(**wrong)
    for weights, norm in ((np.zeros((2, 2)), 1.0), ([math.nan], 1.0), ([0.0], 0.0), ([0.0], math.nan)):
        with pytest.raises(ValueError, match=r"one row of finite numbers|a norm is above 0"):
            Course(weights, norm=norm)
    with pytest.raises(ValueError, match="the answer has 2 rows, and there are 1 weights"):
        Course([0.0]).take(step(1.0, 1.0))
    with pytest.raises(FrozenInstanceError):
        Settings().rounds = 5  # type: ignore[misc]
