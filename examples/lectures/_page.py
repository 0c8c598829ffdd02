"""The page of the lectures, docs/lectures.md: every topic's words, figures and picture, and the map of all lines.

`python -m examples.lectures --write` makes it anew. A test holds every section against what the topic tells.
"""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from unittest.mock import patch

from ._running import topic, topics, words
from .lines import LINES, PARTS
from .shown import SHOWN

__all__ = ["PAGE", "beginning", "image_of", "mapped", "picture", "section", "shown_by", "write"]

_ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = _ROOT / "docs" / "lectures.md"
IMAGES = _ROOT / "docs" / "images"
_COLUMNS = "118"
"""Tables are drawn for a terminal of so many columns, whoever writes the page."""
_BEGINNING = """# The lectures come alive

Lecture notes on differential privacy print formulas, worked examples and, now and then, mistakes. Here each of them
is run: against the mechanisms of the devices, the estimators and the accounting of the aggregator, and the picture
against a whole aggregator with its store. A topic is a file of `examples/lectures`, and anybody can run it, from
the repository's root:

```sh
python -m examples.lectures             # which topics there are
python -m examples.lectures survey      # one of them; --svg FILE draws its picture, where it has one
python -m examples.lectures --write     # this page and its pictures, anew
```

Figures below are what these commands print; tests hold the page against them, and each topic against what is known
of it from elsewhere (`tests/examples/lectures`). Random numbers come from seeds, so that they are the same for
everybody: a device of the SDK never draws so. [The map](#the-map) at the end says of every line of the notes which
topic or which test shows it.
"""


def beginning() -> str:
    """What the page begins with: how topics are run, and which there are."""
    listed = [f"- [{name}](#{name}): {words(name).partition(chr(10))[0]}" for name in topics()]
    return "\n".join([_BEGINNING, *listed, ""])


def section(name: str) -> str:
    """A topic: its words, what it shows, its picture, and what it prints."""
    module = topic(name)
    told = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": _COLUMNS}), contextlib.redirect_stdout(told):
        module.main([])
    printed = "\n".join(line.rstrip() for line in told.getvalue().strip("\n").splitlines())
    paragraphs = words(name).split("\n\n")
    prose = [f"```text\n{each}\n```" if "\n  " in each else each for each in paragraphs]
    shows = f"Shows {', '.join(module.SHOWS)}: `python -m examples.lectures {name}`"
    image = [f"![{paragraphs[0]}](images/{image_of(name).name})"] if hasattr(module, "drawn") else []
    return "\n\n".join([f"## {name}", *prose, shows, *image, f"```text\n{printed}\n```", ""])


def picture(name: str) -> str | None:
    """A topic's picture as SVG; None where it has none."""
    module = topic(name)
    drawn: str | None = module.drawn() if hasattr(module, "drawn") else None
    return drawn


def shown_by() -> dict[str, list[str]]:
    """Of every id that is shown, by which topics."""
    found: dict[str, list[str]] = {}
    for name in topics():
        for line in topic(name).SHOWS:
            found.setdefault(line, []).append(name)
    return found


def mapped() -> str:
    """The map: every line, and who shows it."""
    by_topic = shown_by()
    parts = ["## The map", ""]
    for letter, title in PARTS.items():
        parts += [f"### {letter}: {title}", "", "| line | what it says | shown by |", "|---|---|---|"]
        for line, says in LINES.items():
            if line.startswith(letter):
                by = [f"[{name}](#{name})" for name in by_topic.get(line, ())]
                by += [f"`{SHOWN[line]}`"] if line in SHOWN else []
                parts.append(f"| {line} | {says.replace('|', chr(92) + '|')} | {', '.join(by)} |")
        parts.append("")
    return "\n".join(parts)


def write() -> None:
    """Make the page and its pictures anew; pictures of topics that are gone are removed."""
    sections = [section(name) for name in topics()]
    PAGE.write_text("\n".join([beginning(), *sections, mapped()]), encoding="utf-8")
    for old in IMAGES.glob("lecture-*.svg"):
        old.unlink()
    for name in topics():
        if (drawn := picture(name)) is not None:
            image_of(name).write_text(drawn, encoding="utf-8")


def image_of(name: str) -> Path:
    """Where a topic's picture is kept."""
    return IMAGES / f"lecture-{name.replace('_', '-')}.svg"
