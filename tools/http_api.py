"""docs/http.md, made of the routes and parameters that the API answers by: `python -m tools.http_api --write`.

A test holds the page against them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from deniable_aggregator.web.openapi import REFUSALS, ROOT, ROUTES
from deniable_aggregator.web.parameters import COMPARING, INTERVALS, ROWS, TREND, WEIGHTS, WINDOW, Parameter

PAGE = Path(__file__).resolve().parent.parent / "docs" / "http.md"
GROUPS = (
    ("Window and segment", "of every question about a collection", WINDOW),
    ("Intervals", "of all but counters", INTERVALS),
    ("Rows", "of overviews and estimates", ROWS),
    ("Weights", "of the estimates of a window", WEIGHTS),
    ("Trends", "of an overview", TREND),
    ("What is compared with", "of comparisons", COMPARING),
)
HEAD = """\
# The API over HTTP

`deniable serve` answers at the page's address (http://localhost:8471/ unless `--http` says otherwise), by GET alone.
What is here stands in `/api/openapi.json`, too, for programs: it describes every route, parameter and answer, and is
made of what answers. This page is made of the same, by `python -m tools.http_api --write`.

```sh
curl 'http://localhost:8471/api/v1/collections/editor/estimates/dark_mode?last=7d&segment.platform=linux'
```

- Answers are the messages of `proto/deniable/v1/estimate_service.proto` as protobuf writes them in JSON. Numbers of
  64 bits are texts there, and an interval without an upper end has `"Infinity"`.
- A collection goes by its name, its digest, or both as its `title` has them.
- Every answer has an ETag. Who sends it back as `If-None-Match` gets 304 while nothing has changed, which costs next
  to nothing.
- Who may ask is who can reach the address, unless `deniable serve` has `--tokens`: then who has a token that reads,
  and says so with every question (`Authorization: Bearer TOKEN`), or has logged in at the page. A token for some
  collections is shown those, and not health or metrics, which are about all. On a loopback address, which is the
  default, only this machine's names are answered.

## What is answered
"""


def page() -> str:
    """The whole of it."""
    parts = [HEAD, "| path | what | as CSV |", "|---|---|---|"]
    parts += [f"| `{ROOT}{own.path}` | {own.what} | {'`.csv`' if own.table else ''} |" for own in ROUTES]
    parts.append("| `/api/openapi.json` | All of this, for programs. | |")
    parts.append("\n## What can be said\n\nWhat a question does not know is refused, and so is what is said twice.")
    for title, where, group in GROUPS:
        parts += [f"\n### {title}\n\nParameters {where}.\n", *_table(group)]
    parts.append('\n## What is refused\n\nA refusal is `{"error": {"code", "status", "message"}}`.\n')
    parts += ["| code | why |", "|---|---|", *(f"| {code} | {why} |" for code, why in REFUSALS.items())]
    return "\n".join(parts) + "\n"


def _table(group: Iterable[Parameter]) -> Iterable[str]:
    yield "| parameter | what it says | such as |"
    yield "|---|---|---|"
    for own in group:
        yield f"| `{own.name}` | {own.what} | `{own.example}` |"


def main() -> None:
    """Print the page, or write it."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
