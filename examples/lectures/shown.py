"""Which lines of the lectures are shown by tests that the house has anyway."""

from __future__ import annotations

from ._shown_structure import SHOWN as STRUCTURE

__all__ = ["SHOWN"]

SHOWN = {
    "B1": "tests/privacy/test_conformance.py::test_no_column_of_any_kind_claims_more_than_its_metric",
    "B6": "tests/accounting/test_composition.py::test_sums_and_the_most_of_any",
    "B8": "tests/accounting/test_composition.py::test_sums_and_the_most_of_any",
    "C3": "tests/privacy/test_laplace_noise.py::test_every_coin_is_as_near_to_the_noise_as_the_slack_pays_for",
    "C4": "tests/mechanisms/test_vector_laplace.py::test_no_two_vectors_are_told_apart_by_more_than_epsilon",
    "C11": "tests/privacy/test_laplace_noise.py::test_the_noise_has_the_moments_of_the_closed_form",
} | STRUCTURE
"""Each id, and the test that shows it."""
