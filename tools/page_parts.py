"""The part of a page that a command makes: it stands between two comments, and what is around it is kept.

words:
  part    what stands between the comments that begin and end it; a page may have several
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["Part"]


class Part(NamedTuple):
    """A part, by its two comments."""

    begin: str
    end: str

    def of(self, page: str) -> str:
        """What a page has there."""
        return self._cut(page)[1].strip()

    def put(self, page: str, made: str) -> str:
        """The page with this there instead."""
        before, _, after = self._cut(page)
        return f"{before}{self.begin}\n\n{made}\n\n{self.end}{after}"

    def write(self, path: Path, made: str) -> str:
        """Put it into a file as that is now: others may have written there meanwhile. What the file has then."""
        page = self.put(path.read_text(encoding="utf-8"), made)
        path.write_text(page, encoding="utf-8")
        return page

    def _cut(self, page: str) -> tuple[str, str, str]:
        before, begun, rest = page.partition(self.begin)
        inside, ended, after = rest.partition(self.end)
        if not begun or not ended or self.begin in after:
            raise ValueError(f"a page has {self.begin} and then {self.end} once each: this one has not")
        return before, inside, after
