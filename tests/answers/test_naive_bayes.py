"""Naive Bayes from an answer: the probabilities that the table says, and as good on real data as without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tools.joint_models import accuracy, breast_cancer, exactly, learned

from deniable_aggregator.answers import Estimate, answer
from support import joints
from support.asked import asked
from support.joints import associated, joint

THREE = {"theme": 2, "platform": 3, "mood": 2}
SHARES = associated([6, 4], [5, 3, 2], 0.5)[:, :, np.newaxis] * np.array([0.7, 0.3])


def known(more: str = "") -> Estimate:
    """The answer of a billion devices, in which the mood has nothing to do with the others."""
    metric = joint(THREE, 2, more)
    return answer(metric, joints.exactly(metric, SHARES))


@pytest.mark.parametrize("more", ["", 'pairs = "theme"'])
def test_probabilities_are_those_of_bayes(more: str) -> None:
    """From one table of all and from a table a feature: the prior times the likelihoods, where these are known."""
    model = known(more).naive_bayes("theme")
    assert model.classes == ("theme0", "theme1")
    for place in range(3):
        (found,) = model.probabilities([{"platform": f"platform{place}", "mood": "mood1"}])
        pair = SHARES[:, place].sum(axis=1)
        assert found == pytest.approx(pair / pair.sum(), abs=5e-3)
    assert model.probabilities([{}])[0] == pytest.approx([0.6, 0.4], abs=2e-3)
    assert model.predict([{"platform": "platform1"}, {"platform": "platform0", "mood": None}]) == ["theme1", "theme0"]


def test_it_is_scikit_learns_where_that_is_installed() -> None:
    """A fitted `CategoricalNB` with the same probabilities, whose inputs are places of values."""
    from sklearn.naive_bayes import CategoricalNB  # a third of a second for every process that only looks for tests

    model = known('pairs = "theme"').naive_bayes("theme")
    fitted = model.categorical_nb()
    assert isinstance(fitted, CategoricalNB)
    devices = [{"platform": f"platform{place}", "mood": f"mood{mood}"} for place in range(3) for mood in range(2)]
    places = [[place, mood] for place in range(3) for mood in range(2)]
    assert list(model.values) == ["platform", "mood"]
    assert fitted.predict_proba(places) == pytest.approx(model.probabilities(devices))
    assert fitted.predict(places).tolist() == model.predict(devices)


def test_booleans_are_truth_values() -> None:
    """As they are recorded."""
    more = 'of = ["dark", "mood"]\nepsilon = 2\n[metrics.dark]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
    metric = asked("joint", more + joints.sources({"mood": 2}))
    shares = np.array([[0.4, 0.1], [0.1, 0.4]])
    model = answer(metric, joints.exactly(metric, shares)).naive_bayes("mood")
    assert model.predict([{"dark": True}, {"dark": False}, {"dark": "yes"}]) == ["mood1", "mood0", "mood1"]
    with pytest.raises(ValueError, match="dark has no value 'maybe'; its values: no, yes"):
        model.predict([{"dark": "maybe"}])


def test_what_has_no_model_says_why() -> None:
    """Another target, another kind, no reports."""
    with pytest.raises(ValueError, match="no source 'age'; its sources: theme, platform, mood"):
        known().naive_bayes("age")
    with pytest.raises(ValueError, match="pairs of another target than 'mood', each with one of mood, platform"):
        known('pairs = "theme"').naive_bayes("mood")
    yes = asked("boolean", "epsilon = 1")
    with pytest.raises(
        ValueError, match="one is no joint, is not told with its table and marginals, or has no report"
    ):
        answer(yes, [np.array([3, 4])]).naive_bayes("theme")
    metric = joint(THREE)
    empty = answer(metric, [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns])
    with pytest.raises(ValueError, match="has no reports"):
        empty.naive_bayes("theme")


def test_no_noise_makes_a_probability_that_is_none() -> None:
    """Fifty devices, of which reports say next to nothing: between 0 and 1, 1 together, and nothing is certain."""
    metric = joint(THREE, 0.5, 'pairs = "theme"')
    counters = joints.exactly(metric, SHARES, 50)
    for _ in range(20):
        found = answer(metric, [np.random.default_rng(_).poisson(own) for own in counters]).naive_bayes("theme")
        chances = found.probabilities([{"platform": f"platform{place}", "mood": "mood0"} for place in range(3)])
        assert chances.sum(axis=1) == pytest.approx([1, 1, 1])
        assert math.isfinite(np.log(chances).sum())


def test_it_is_within_two_points_of_the_model_without_privacy() -> None:
    """Breast cancer, told from 30 measurements: 100,000 devices that each answer one pair at epsilon 2. The mean of
    three fleets; single ones are off by up to a point. A model that says the more frequent one is 30 points off."""
    data = breast_cancer()
    private = np.mean([accuracy(data, learned(data, "2", 100_000, seed)) for seed in range(3)])
    assert private >= accuracy(data, exactly(data)) - 0.02
