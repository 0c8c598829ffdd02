"""`python -m deniable_aggregator.commands`: the same as `deniable`."""

from __future__ import annotations

import sys

from deniable_aggregator.commands import main

if __name__ == "__main__":
    sys.exit(main())
