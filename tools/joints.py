"""The page docs/joints.md: what a joint is worth, measured. `--write` puts it there; it takes a few minutes.

python -m tools.joints             print it
python -m tools.joints --write     and replace the page's tables
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import stats
from tools.joint_models import Data, accuracy, breast_cancer, exactly, flights, learned
from tools.joint_statistics import CASES, Setting, measured
from tools.page_parts import Part

__all__ = ["PAGE", "tables"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "joints.md"
_PART = Part("<!-- tools/joints.py -->", "<!-- end of tools/joints.py -->")
_SAMPLES = 4_000
_SERIES = ("table", "marginals", "conditionals", "association")
_FLEETS, _EPSILONS, _SEEDS = (10_000, 30_000, 100_000, 300_000), ("0.5", "1", "2", "4"), range(5)


def tables() -> str:
    """All of them."""
    return "\n".join([*_intervals(), "", *_models()])


def _intervals() -> Iterator[str]:
    yield "| table, epsilon, reports | cells | marginals | conditionals | association | p below 5% | uniform |"
    yield "|---|---|---|---|---|---|---|"
    for setting in CASES:
        yield _interval(setting)


def _interval(setting: Setting) -> str:
    found = measured(setting, _SAMPLES, 1)
    covered = (f"{100 * float(np.mean(found.covered[name])):.1f}%" for name in _SERIES)
    often = f"{100 * float(np.mean(np.array(found.chances) < 0.05)):.1f}%"
    uniform = f"{stats.kstest(found.chances, 'uniform').pvalue:.2g}" if not setting.follows else "-"
    return f"| {setting} | {' | '.join(covered)} | {often} | {uniform} |"


def _models() -> Iterator[str]:
    fleets = " | ".join(f"{devices:,} devices" for devices in _FLEETS)
    yield f"| naive Bayes | epsilon | {fleets} | without privacy | the most frequent |"
    yield "|---|---|" + "---|" * (len(_FLEETS) + 2)
    for name, data in (("breast cancer", breast_cancer()), ("late flights", flights())):
        target = data.test[data.target]
        plain = f"{100 * accuracy(data, exactly(data)):.1f}% | {100 * np.bincount(target).max() / len(target):.1f}%"
        for epsilon in _EPSILONS:
            told = (f"{100 * _mean(data, epsilon, devices):.1f}%" for devices in _FLEETS)
            yield f"| {name} | {epsilon} | {' | '.join(told)} | {plain} |"


def _mean(data: Data, epsilon: str, devices: int) -> float:
    return float(np.mean([accuracy(data, learned(data, epsilon, devices, seed)) for seed in _SEEDS]))


if __name__ == "__main__":
    found = tables()
    print(found)
    if "--write" in sys.argv[1:]:
        _PART.write(PAGE, found)
