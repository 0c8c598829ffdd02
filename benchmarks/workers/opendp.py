"""What OpenDP does: runs in its environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found]

from benchmarks.workers import serve


def _often(measurement: Any, value: Any) -> Callable[[int], None]:
    def work(count: int) -> None:
        for _ in range(count):
            measurement(value)

    return work


if __name__ == "__main__":
    dp.enable_features("contrib")
    odds = math.e
    noise = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=480.0)
    category = dp.m.make_randomized_response(categories=list(range(48)), prob=odds / (odds + 47))
    serve(
        {
            "boolean": _often(dp.m.make_randomized_response_bool(prob=odds / (odds + 1)), True),
            "category": _often(category, 5),
            "laplace": _often(noise, 100),
        }
    )
