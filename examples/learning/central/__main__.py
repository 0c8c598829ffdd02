"""What each of the mechanisms tells right of rows that it has not seen: `python -m examples.learning.central`."""

from __future__ import annotations

import numpy as np

from . import data, descent, objective, output
from .regression import accuracy, fitted

EPSILON, DELTA, DEVICES, PENALTY = 1.0, 1e-6, 10_000, 1e-3


def main() -> None:
    """A line for each."""
    generator = np.random.default_rng(1)
    rows = data.split("breast cancer", 1)
    fleet = data.fleet(rows.train, DEVICES, generator)
    found = {
        "without privacy": fitted(fleet, PENALTY, 1e-8),
        "output perturbation": output.released(fleet, EPSILON, DELTA, PENALTY, generator),
        "objective perturbation": objective.released(fleet, EPSILON, PENALTY, generator),
        "noisy gradient descent": descent.released(fleet, EPSILON, DELTA, descent.Descent(), generator),
    }
    print(f"{DEVICES:,} devices, breast cancer, epsilon {EPSILON:g}, delta {DELTA:g}")
    for name, weights in found.items():
        print(f"{name:24}{accuracy(weights, rows.vectors, rows.classes):7.1%}")


if __name__ == "__main__":
    main()
