"""Vector Laplace: of one entry, whose twin draws as the client does, and of many."""

from __future__ import annotations

from deniable.mechanisms import VectorLaplace
from deniable.mechanisms._entries import pack
from support.cases import FOUR, ONE, Asked, Cases, Subject

__all__ = ["CASES"]

CASES = Cases(
    proved="tests/mechanisms/test_vector_laplace.py",
    scripted=(Subject(VectorLaplace(FOUR, 1, 12), (pack([0]), pack([-12]), pack([5]))),),
    fitted=(Subject(VectorLaplace(FOUR, 1, 12), (pack([-12]),)),),
    timed=(Subject(VectorLaplace(ONE, 64, 200), (pack([0] * 64), pack([100] + [0] * 63), pack([1, -1] * 32))),),
    asked=(
        Asked(
            "weights",
            'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"',
            [[0.5, -0.1, 0], [3, 0, -4]],
        ),
        Asked(
            "weight",
            'kind = "vector"\ndimensions = 1\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"',
            audited=800_000,
        ),
    ),
)
