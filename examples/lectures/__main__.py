"""`python -m examples.lectures [TOPIC] [--svg FILE]`: what a topic shows; without one, which there are."""

from __future__ import annotations

import sys

from ._running import topic, topics, words

PAGE = "--write"


def main(arguments: list[str]) -> int:
    """Run a topic, list all, or write docs/lectures.md anew; how it ended."""
    names = topics()
    if arguments == [PAGE]:
        from ._page import write

        write()
        return 0
    if not arguments or arguments[0] not in names:
        for name in names:
            print(f"{name:14} {words(name).partition(chr(10))[0]}")
        return 2 if arguments else 0
    name, *rest = arguments
    print(words(name), end="\n\n", flush=True)
    ended: int = topic(name).main(rest)
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
