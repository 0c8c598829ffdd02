"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Machines are shared: no test fails for being slow. At the gate the same examples are tried every time.
settings.register_profile("deniable", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("deniable")
