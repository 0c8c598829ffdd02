"""What devices are asked to learn a model from them: how long their updates are, and then an update a round.

Every question has the same epsilon, and that is what a device may spend in its life: it answers one of them, once.
"""

from __future__ import annotations

__all__ = ["asked"]

_HEAD = """\
[collection]
name = "learning"
epoch = "1d"
owner = "telemetry@example.org"

[budget]
epoch = {all}
lifetime = {epsilon}

[metrics.length]
kind = "distribution"
description = "How long the change is that this device would make to the model (as a power of two)"
range = [-6, 2]
buckets = 64
epsilon = {epsilon}
"""
_ROUND = """
[metrics.round_{number}]
kind = "vector"
description = "How this device would change the model of round {number}"
dimensions = {dimensions}
clip = 1
norm = "l2"
epsilon = {epsilon}
"""


def asked(dimensions: int, rounds: int, epsilon: str) -> str:
    """The collection, as a file has it: for a model of so many weights."""
    text = _HEAD.format(epsilon=epsilon, all=(rounds + 1) * float(epsilon))
    each = (_ROUND.format(number=number, dimensions=dimensions, epsilon=epsilon) for number in range(1, rounds + 1))
    return text + "".join(each)
