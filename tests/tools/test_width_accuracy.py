"""How wide intervals are beside what was expected: the page has what the tool measures."""

from __future__ import annotations

from tools.fleets import cases
from tools.width_accuracy import EPSILONS, PAGE

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_metric() -> None:
    """At the first epsilon, of a thousand devices each."""
    for case in cases(EPSILONS[0]):
        assert f"\n| {EPSILONS[0]} | {case.name} | {case.fleet.name} | 1,000 |" in TEXT, case
