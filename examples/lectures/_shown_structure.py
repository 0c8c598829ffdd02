"""Lines on learning and structure that tests of the house show, beside the topics that run."""

from __future__ import annotations

__all__ = ["SHOWN"]

_AUDIT = "tests/planning/test_audit.py"
_CENTRAL, _WHOLE = "tests/examples/test_central.py", "tests/consistency/test_whole_numbers.py"
SHOWN: dict[str, str] = {
    "B15": f"{_AUDIT}::test_a_metric_measures_no_more_than_it_spends_and_more_than_if_it_spent_less",
    "B16": "tests/golden/test_golden_costs.py::test_exact_averages_of_a_few_people_give_them_away",
    "B17": "tests/accounting/test_participation.py::test_secret_participation_of_one_in_ten",
    "C8": "tests/golden/test_golden_costs.py::test_naive_bayes_by_both_routes",
    "C17": "tests/web/test_synthesis.py::test_the_bound_is_the_larger_of_what_is_promised_and_what_is_drawn",
    "D1": "tests/system/test_learning.py::test_a_model_is_learned_from_devices_that_answer_once",
    "D2": f"{_CENTRAL}::test_one_device_moves_a_sum_of_clipped_gradients_by_two_clips",
    "D3": f"{_CENTRAL}::test_one_device_moves_the_minimum_nearly_as_far_as_is_said",
    "D4": f"{_CENTRAL}::test_what_objective_perturbation_releases_is_no_likelier_than_e_to_the_epsilon",
    "D6": f"{_WHOLE}::test_nothing_is_better_than_what_is_found",
    "D7": f"{_WHOLE}::test_the_worked_table_of_the_lectures",
    "D8": f"{_WHOLE}::test_the_tables_of_the_lectures_cost_as_much",
    "D10": "tests/consistency/test_constraints.py::test_it_is_never_farther_from_a_truth_that_fits",
    "D14": "tests/client/device/test_consent.py::test_nothing_is_collected_before_a_yes",
    "E6": "tests/golden/test_golden_costs.py::test_sampling_that_nobody_sees_amplifies",
    "E12": f"{_CENTRAL}::test_clipping_the_batch_gives_away_170_times_delta",
    "H1": "tests/consistency/test_groups.py::test_nothing_that_fits_is_better",
    "H3": f"{_WHOLE}::test_of_two_that_cost_the_same_it_is_the_smaller_sum_and_the_first_leaf",
    "H6": "tests/consistency/test_constraints.py::test_it_is_never_farther_from_a_truth_that_fits",
    "H9": "tests/answers/test_naive_bayes.py::test_probabilities_are_those_of_bayes",
}
"""Each id, and the test that shows it."""
