"""Projective geometry response: few points, and the most that tests can afford."""

from __future__ import annotations

from deniable.mechanisms import ProjectiveGeometryResponse
from support.cases import EPSILONS, NAMES, ONE, TWO, Asked, Cases, Family, Subject, listed

__all__ = ["CASES"]

CASES = Cases(
    families=(
        Family(ProjectiveGeometryResponse.best, EPSILONS, (60, 4096), (("2", 60),), (("1", 1), ("1", 1 << 22))),
    ),
    scripted=(
        Subject(ProjectiveGeometryResponse.best(TWO, 60), (0, 1, 7, 30, 59)),
        Subject(ProjectiveGeometryResponse.best(ONE, 300), (0, 17, 299)),
    ),
    fitted=(Subject(ProjectiveGeometryResponse.best(TWO, 60), (0, 30, 59)),),
    timed=(
        Subject(ProjectiveGeometryResponse.best(ONE, 60), tuple(range(60))),
        Subject(ProjectiveGeometryResponse.best(ONE, 300), (0, 1, 2, 17, 150, 299)),
    ),
    asked=(
        Asked(
            "points",
            f'kind = "category"\nvalues = {listed(NAMES)}\nmechanism = "projective_geometry"',
            NAMES[-2:],
            600_000,
        ),
    ),
)
