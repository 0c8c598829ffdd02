"""Which lines of the lectures are shown by tests that the house has anyway."""

from __future__ import annotations

__all__ = ["SHOWN"]

SHOWN = {
    "B6": "tests/accounting/test_composition.py::test_sums_and_the_most_of_any",
    "B8": "tests/accounting/test_composition.py::test_sums_and_the_most_of_any",
    "C11": "tests/privacy/test_laplace_noise.py::test_the_noise_has_the_moments_of_the_closed_form",
}
"""Each id, and the test that shows it."""
