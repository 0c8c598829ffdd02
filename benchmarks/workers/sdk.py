"""What the SDK does."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.workers import serve
from deniable.epsilon import Epsilon
from deniable.mechanisms import Hybrid, Laplace, Mechanism, RandomizedResponse, choose


def _often(mechanism: Mechanism, value: int) -> Callable[[int], None]:
    def work(count: int) -> None:
        randomize = mechanism.randomize
        for _ in range(count):
            randomize(value)

    return work


if __name__ == "__main__":
    one = Epsilon.of(1)
    serve(
        {
            "boolean": _often(RandomizedResponse(one, 2), 1),
            "category": _often(choose(one, 48, "auto"), 5),
            "laplace": _often(Laplace(one, 480), 100),
            "number": _often(Hybrid.best(one), 5),
            "category-1024": _often(choose(one, 1024, "auto"), 5),
        }
    )
