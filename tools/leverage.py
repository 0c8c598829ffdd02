"""The table of docs/privacy.md that says what one fake device can do, from the code: `--write` puts it there.

python -m tools.leverage            print it
python -m tools.leverage --write    and replace it in docs/privacy.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.page_parts import Part

from deniable import Collection, Metric
from deniable_aggregator.planning.leverage import gain

__all__ = ["ASKED", "asked", "placed", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "privacy.md"
EPSILONS = ("0.5", "1", "2", "4")
_PART = Part("<!-- leverage: tools/leverage.py -->", "<!-- end of leverage -->")
_HEAD = """
[collection]
name = "leverage"
owner = "tools"
epoch = "1d"
[budget]
epoch = 1000
[metrics.one]
description = "d"
"""


def _named(count: int) -> str:
    return str([f"v{number}" for number in range(count)]).replace("'", '"')


def _category(count: int, mechanism: str) -> str:
    return f'kind = "category"\nvalues = {_named(count)}\nmechanism = "{mechanism}"'


def _vector(norm: str, more: str = "") -> str:
    return f'kind = "vector"\ndimensions = 64\nclip = 1\nnorm = "{norm}"\n' + more


_PATHS = str([f"{top}/{middle}/{leaf}" for top in "abcd" for middle in "abc" for leaf in "abcd"]).replace("'", '"')
_SOURCES = "".join(
    f'[metrics.{name}]\nkind = "category"\nvalues = {_named(count)}\ndescription = "d"\nepsilon = 1\n'
    for name, count in (("few", 4), ("more", 5), ("most", 5))
)
_SET = f'kind = "set"\nvalues = {_named(20)}\nmax_items = 5'
_MEMO = "\nmemoize = true\ninstantaneous_epsilon = {epsilon}"
ASKED: dict[str, str] = {
    "boolean": 'kind = "boolean"',
    "boolean, remembered, and again at the same epsilon": 'kind = "boolean"' + _MEMO,
    "category of 5, randomized response": _category(5, "randomized_response"),
    "category of 48, randomized response": _category(48, "randomized_response"),
    "category of 48, subset selection": _category(48, "subset_selection"),
    "category of 48, projective geometry": _category(48, "projective_geometry"),
    "category of 1,000, randomized response": _category(1000, "randomized_response"),
    "category of 1,000, subset selection": _category(1000, "subset_selection"),
    "category of 1,000, projective geometry": _category(1000, "projective_geometry"),
    "category of 48, remembered, and again": 'kind = "category"\nvalues = ' + _named(48) + _MEMO,
    "ordinal of 5, randomized response": f'kind = "ordinal"\nvalues = {_named(5)}',
    "ordinal of 5, exponential": f'kind = "ordinal"\nvalues = {_named(5)}\nmechanism = "exponential"',
    "number, one bit": 'kind = "number"\nrange = [0, 480]\nmechanism = "one_bit"',
    "number, hybrid": 'kind = "number"\nrange = [0, 480]\nmechanism = "hybrid"',
    "number, Laplace": 'kind = "number"\nrange = [0, 480]\nmechanism = "laplace"',
    "count up to 50, one bit": 'kind = "count"\nmax = 50\nmechanism = "one_bit"',
    "count up to 50, hybrid": 'kind = "count"\nmax = 50\nmechanism = "hybrid"',
    "count up to 50, geometric": 'kind = "count"\nmax = 50\nmechanism = "geometric"',
    "count up to 50, events": 'kind = "count"\nmax = 50\nprivacy_unit = "event"',
    "distribution of 64 buckets": 'kind = "distribution"\nrange = [0, 64]\nbuckets = 64',
    "distribution of 1,024 buckets": 'kind = "distribution"\nrange = [0, 1024]\nbuckets = 1024',
    "10 flags, one drawn": f'kind = "flags"\nflags = {_named(10)}\nmechanism = "randomized_response"',
    "10 flags, all answered": f'kind = "flags"\nflags = {_named(10)}\nmechanism = "bitwise_response"',
    "10 flags, all, remembered, and again": f'kind = "flags"\nflags = {_named(10)}\nmechanism = "bitwise_response"'
    + _MEMO,
    "set of 5 of 20, randomized response": _SET + '\nmechanism = "randomized_response"',
    "set of 5 of 20, subset selection": _SET + '\nmechanism = "subset_selection"',
    "set of 5 of 20, projective geometry": _SET + '\nmechanism = "projective_geometry"',
    "text": 'kind = "text"',
    "tree of 4, 12 and 48 nodes": f'kind = "tree"\npaths = {_PATHS}',
    "joint of 4 by 5": f'kind = "joint"\nof = ["few", "more"]\n{_SOURCES}',
    "joint of pairs of 4 by 5": f'kind = "joint"\nof = ["few", "more", "most"]\npairs = "few"\n{_SOURCES}',
    "vector of 64, l1": _vector("l1", 'mechanism = "vector_laplace"'),
    "vector of 64, l2": _vector("l2", "delta = 1e-6\nfleet = 1000"),
    "vector of 64, codewords": _vector("l2"),
}
"""Every kind by every mechanism, as a collection asks for it."""


def asked(name: str, epsilon: str) -> Metric:
    """The metric of that name at an epsilon."""
    text = ASKED[name].format(epsilon=epsilon) if "{epsilon}" in ASKED[name] else ASKED[name]
    return Collection.loads(f"{_HEAD}epsilon = {epsilon}\n{text}\n").metrics["one"]


def table() -> str:
    """A row for each; a second number is what all rows together move."""
    lines = [f"| one fake device, at epsilon | {' | '.join(EPSILONS)} |", "|---|" + "---|" * len(EPSILONS)]
    for name in ASKED:
        gains = [gain(asked(name, epsilon)) for epsilon in EPSILONS]
        cells = [_shown(each.row) + (f" ({_shown(each.together)})" if each.together > each.row * 1.005 else "")
                 for each in gains]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def placed(page: str) -> str:
    """The page with the table of today."""
    return _PART.put(page, table())


def _shown(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    print(table())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
