"""Do 95% intervals of distributions and trees hold? Makes their tables in docs/statistics.md.

python -m tools.level_statistics --page     measures, and writes the tables: ten minutes
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tools.fleets import cases
from tools.interval_statistics import EPSILONS, PAGE, REPORTS, leveled, line
from tools.page_parts import Part

SAMPLES = 1_000
KINDS = ("distribution", "tree")


def table(kind: str, samples: int) -> Iterator[str]:
    """The lines of the table of a kind."""
    heads = ["epsilon", "metric", "fleet", "reports", "worst row", "mean of rows", "width", "widest", "joint"]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for epsilon in EPSILONS:
        for case in cases(epsilon):
            if not leveled(case) or case.metric.kind.name != kind:
                continue
            for reports in (50, *REPORTS):
                print(f"epsilon {epsilon}: {case}, {reports:,} reports", file=sys.stderr, flush=True)
                told, _ = line(case, reports, samples)
                yield f"| {epsilon} {told.removesuffix(' |')}"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--page", action="store_true", help="write them into docs/statistics.md")
    options = parser.parse_args()
    for kind in KINDS:
        lines = "\n".join(table(kind, options.samples))
        if not options.page:
            print(lines)
            continue
        Part(f"<!-- {kind} -->", f"<!-- end of {kind} -->").write(PAGE, lines)


if __name__ == "__main__":
    main()
