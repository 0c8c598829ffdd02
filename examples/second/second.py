"""A program that lives for a second: what it records is kept, and a later run answers for the day and sends it.

Nothing is to be done for that. The end of the `with` writes what was recorded to the state file. The first run of
another day seals the day before; the run that is there when the batch's moment comes, or one that finds it missed,
sends it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import deniable


def main(arguments: list[str]) -> int:
    """Do what there is to do, or with --send what otherwise a later day does."""
    with deniable.Client(
        deniable.Collection.load(Path(__file__).with_name("metrics.toml")),
        endpoint=os.environ.get("SECOND_ENDPOINT", "127.0.0.1:8470"),
        state=deniable.state_path("second"),
        consent="granted",  # who runs this example has read what it asks; an application asks
    ) as client:
        if "--send" in arguments:
            print("stored" if client.flush() else client.status())
            return 0
        client.record("runs", 1)
        client.record("verbose", "--verbose" in arguments)
        print("done")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
