"""How wide intervals are beside what was expected: the page has what the tool measures, and keeps it."""

from __future__ import annotations

from tools.fleets import cases
from tools.width_accuracy import EPSILONS, PAGE, written

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_metric() -> None:
    """At the first epsilon, of a thousand devices each."""
    for case in cases(EPSILONS[0]):
        assert f"\n| {EPSILONS[0]} | {case.name} | {case.fleet.name} | 1,000 |" in TEXT, case


def test_a_part_that_is_measured_anew_leaves_the_rest() -> None:
    """In its place; the farthest is of all that is on the page then."""
    assert written(TEXT, []) == TEXT
    (line,) = [line for line in TEXT.splitlines() if line.startswith("| 1 | boolean | skewed | 1,000 |")]
    anew = "| 1 | boolean | skewed | 1,000 | 1 | -99.00% | shares: yes |"
    changed = written(TEXT, [anew])
    assert changed.replace(anew, line).splitlines()[:-3] == TEXT.splitlines()[:-3]
    assert "\nThe farthest is 99.00% off.\n" in changed
