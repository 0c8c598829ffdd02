"""Learning from devices that nobody can learn anything of: what every loop of rounds needs, beside what is there.

words:
  round    weights go down, the application's own way; every device that takes part says by how much it would change
           them, as its answer to a vector metric; the mean of the answers is a step
  update   what one device would add to the weights, over the norm: the SDK shortens it to the metric's clip
  norm     what updates are divided by before they are recorded, and steps multiplied by: a public number
  course   rounds, one after another, and what has come of them

There is nothing here that devices need: an update is recorded as any value is, and what that costs stands in the
collection. Flower's apps take part by `deniable_aggregator.learning.flower` (the extra `flower`). docs/learning.md
has how, what it costs, and what came of it.
"""

from __future__ import annotations

from deniable_aggregator.learning._course import Course, Settings
from deniable_aggregator.learning._norms import clipping_norm
from deniable_aggregator.learning._step import Step

__all__ = ["Course", "Settings", "Step", "clipping_norm"]
