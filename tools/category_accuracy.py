"""How near `auto` comes to the best accuracy for a category: makes docs/category-accuracy.md from exact variances.

python tools/category_accuracy.py          writes the page
python tools/category_accuracy.py --check  fails where the page is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from deniable.epsilon import Epsilon
from deniable.mechanisms import Choice, ProjectiveGeometryResponse, RandomizedResponse, SubsetSelection, choices
from deniable.payload import Bitmap

PAGE = Path(__file__).resolve().parent.parent / "docs/category-accuracy.md"
DOMAINS = (2, 5, 16, 48, 49, 100, 256, 1024, 4096, 65536)
EPSILONS = ("0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4", "5")
FINE = [Epsilon.of(number / 20) for number in range(1, 101)]
"""From 0.05 to 5 in steps of 0.05, for the worst ratios."""
LETTERS = {
    RandomizedResponse.name: "R",
    SubsetSelection.name: "S",
    ProjectiveGeometryResponse.name: "P",
}

INTRODUCTION = """\
# How accurately a category is counted

Made by `.venv/bin/python tools/category_accuracy.py` from the exact chances of the mechanisms; nothing here is
simulated. (The tests check that real reports err as these formulas say.)

A mechanism whose reports support a device's own value with probability p and any other with q estimates the share of
a rare value from n reports with the variance q (1 - q) / (n (p - q)^2). The standard error is its square root, and a
95% interval reaches about twice as far to both sides. Subset selection at its best size attains the least that any
mechanism can, so it is the measure here: **1.00 is as accurate as can be.** But it sends a bit for each value, and
with more than 48 values that no longer fits the eight bytes of a row.

With `mechanism = "auto"` a category is asked by the mechanism of the least variance, except that wide rows are used
only where they pay: where the best narrow mechanism has more than 1.03 times the least variance (up to epsilon 2) or
1.08 times (beyond), and never for more than 4,096 values (512 bytes).
"""
LEGEND = """\
R: randomized response, a symbol. S: subset selection, a bitmap within the eight bytes; **S+**: in a wide row. P:
projective geometry response, a symbol.
"""
BEYOND = """\
The first column's limit is theory: with a prime q, payloads support 1/2, 1/3, 1/5 of the values, and where two of
these are equally good (epsilon 0.347 and 1.040), both have (1 + sqrt(2))^2 / (4 sqrt(2)) = 1.0303 times the least
variance. Categories of up to 4,096 values go to a bitmap there. Above epsilon 5 and 4,096 values, eight counters a
value no longer reach the order that would be best: at epsilon 8 and 65,536 values the ratio is 1.63.
"""


def ratio(epsilon: Epsilon, inputs: int, choice: Choice) -> float:
    """A choice's variance over that of subset selection at its best size."""
    return choice.variance / float(SubsetSelection.best(epsilon, inputs).variance)


def cell(epsilon: Epsilon, inputs: int) -> str:
    """What auto chooses, and its ratio."""
    choice = choices(epsilon, inputs)[0]
    letter = LETTERS[choice.name] + ("+" if choice.wide else "")
    return f"{f'**{letter}**' if choice.wide else letter} {ratio(epsilon, inputs, choice):.3f}"


def worst(inputs: int, epsilons: Iterable[Epsilon]) -> str:
    """The worst ratio over some epsilons, and the first epsilon that has it."""
    found = [(ratio(epsilon, inputs, choices(epsilon, inputs)[0]), epsilon) for epsilon in epsilons]
    value, epsilon = max(found, key=lambda pair: pair[0])
    return f"{value:.4f} at {epsilon}"


def described(epsilon: Epsilon, inputs: int) -> str:
    """What one report is, how many counters it is added up in, and what 100,000 of them give."""
    choice = choices(epsilon, inputs)[0]
    shape = choice.mechanism.shape
    size = f"{-(-inputs // 8)} bytes, wide" if choice.wide else "8 bytes"
    what = f"{shape.weight} of {shape.size} bits" if isinstance(shape, Bitmap) else f"a symbol of {shape.counters:,}"
    error = (choice.variance / 1e5) ** 0.5
    return f"{choice.name} | {what} | {size} | {shape.counters:,} | {choice.variance:.3g} | {100 * error:.2f}%"


def page() -> Iterator[str]:
    """The page, line by line."""
    yield INTRODUCTION
    yield "## Variance of `auto` in units of the least possible\n"
    yield f"| values | {' | '.join(f'eps {epsilon}' for epsilon in EPSILONS)} |"
    yield f"|---|{'---|' * len(EPSILONS)}"
    for inputs in DOMAINS:
        yield f"| {inputs:,} | {' | '.join(cell(Epsilon.of(float(epsilon)), inputs) for epsilon in EPSILONS)} |"
    yield f"\n{LEGEND}"
    yield "## The worst over all epsilons from 0.05 to 5 in steps of 0.05\n"
    yield "| values | up to 2 | from 2 to 5 |\n|---|---|---|"
    low, high = [each for each in FINE if each.value <= 2], [each for each in FINE if each.value >= 2]
    for inputs in DOMAINS:
        yield f"| {inputs:,} | {worst(inputs, low)} | {worst(inputs, high)} |"
    yield f"\n{BEYOND}"
    yield "## What is sent and kept at epsilon 1\n"
    yield "The error is the standard error of a rare value's share, from 100,000 reports.\n"
    yield "| values | mechanism | a report | its size | counters | variance | error |\n|---|---|---|---|---|---|---|"
    for inputs in DOMAINS:
        yield f"| {inputs:,} | {described(Epsilon.of(1), inputs)} |"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    text = "\n".join(page()) + "\n"
    if arguments == ["--check"]:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE.name} is {'current' if same else 'not current: run tools/category_accuracy.py'}")
        return not same
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
