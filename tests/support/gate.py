"""Where a run of tests is: at the gate, or not; and that its clients record wherever it is.

Clients go by what the environment says: nothing is recorded on a machine of continuous integration, as the gate's is.
So whatever says that is taken out of the environment, for the programs that tests start as well; that it was there is
kept under a name of our own, which the processes of a run are given along.
"""

from __future__ import annotations

import os

from deniable.device.consent import CI, ENVIRONMENT, NO_TRACKING

__all__ = ["AT_GATE", "leave_to_tests"]

_KEPT = "DENIABLE_TESTS_AT_GATE"
AT_GATE = "CI" in os.environ or _KEPT in os.environ
"""Whether nothing may be skipped, and the same examples are tried every time."""


def leave_to_tests() -> None:
    """Take out of the environment what would tell clients not to record."""
    if AT_GATE:
        os.environ[_KEPT] = "yes"
    for name in (*CI, ENVIRONMENT, NO_TRACKING):
        os.environ.pop(name, None)
