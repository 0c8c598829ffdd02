"""Text: a word that nobody has listed.

words:
  word      a text as it is asked: one line without needless blanks, in a normal form, in UTF-8
  too long  of a word with more than `max_bytes` bytes, or whose code is longer than any frame: it is counted as such

A device draws a group, and answers which cell of it its word is in (`_imprints`). Which words there are is found by
the aggregator; and any word can be asked for later, as long as the sums are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from deniable._section import Section, one_of, whole
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds import _levels
from deniable.kinds._imprints import CELLS, GROUPS, Imprint, Imprints
from deniable.kinds._levelled import Levelled
from deniable.kinds._values import shown, text
from deniable.mechanisms import ProjectiveGeometryResponse, RandomizedResponse, Supporting

__all__ = ["NORMAL_FORMS", "Text"]

MOST_BYTES = 64
MOST_COUNTERS = 1 << 20
"""Of all groups together."""
_BYTES = 32
_LOOKED_AT = 16
"""So many characters a byte of a word are looked at: in a normal form there can be fewer."""
_SURROGATES = re.compile("[\ud800-\udfff]")


def _casefold(word: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


NORMAL_FORMS: dict[str, Callable[[str], str]] = {
    "nfc": lambda word: unicodedata.normalize("NFC", word),
    "casefold": _casefold,
}
"""What makes one word of those that are meant to be the same: the ways to write a character, or capitals too."""


@dataclass(frozen=True, slots=True)
class Text(Levelled):
    """A word of at most `max_bytes` bytes, in a normal form."""

    name: ClassVar[str] = "text"
    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name, ProjectiveGeometryResponse.name)

    normalize: str
    max_bytes: int
    salt: str
    code: Imprints = field(init=False, repr=False, compare=False)
    """What words are asked as."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", Imprints(f"{self.salt} {self.normalize} {self.max_bytes}"))

    @classmethod
    def read(cls, section: Section) -> Text | None:
        """Reads `normalize` and `max_bytes`; its hashes are told from those of other metrics by its name."""
        normalize = section.take("normalize", one_of(NORMAL_FORMS), "nfc")
        most = section.take("max_bytes", whole(1, MOST_BYTES), _BYTES)
        return None if normalize is None or most is None else cls(normalize, most, section.where)

    def parameters(self) -> dict[str, Any]:
        """What makes words and imprints."""
        return {"normalize": self.normalize, "max_bytes": self.max_bytes, "salt": self.salt}

    @property
    def sizes(self) -> tuple[int, ...]:
        """In each group a cell more than words have, for those that are too long."""
        return (CELLS + 1,) * GROUPS

    def slopes(self, variances: Sequence[float]) -> _levels.Slopes:  # noqa: ARG002
        """Groups are alike, and so are their shares."""
        return lambda shares: [1 / share**2 for share in shares]

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Supporting, ...]:
        """One a group, all by the same mechanism, of no more counters than a metric may have."""
        found: list[Supporting] = []
        if mechanism in {"auto", RandomizedResponse.name}:
            found.append(RandomizedResponse.best(epsilon, CELLS + 1))
        if mechanism in {"auto", ProjectiveGeometryResponse.name}:
            found.append(ProjectiveGeometryResponse.best(epsilon, CELLS + 1, MOST_COUNTERS // GROUPS))
        return (min(found, key=lambda each: each.variance),) * GROUPS

    def check(self, value: Any) -> str:
        """Takes any text that is not blank, as the word that it is; too long ones are all the same."""
        given = text(value)
        if given is None:
            raise InvalidValueError(f"takes a text, not {shown(value)}")
        word = self.word(given)
        if not word:
            raise InvalidValueError("takes a text that is not blank")
        return self.long if len(word.encode()) > self.max_bytes else word

    def word(self, given: str) -> str:
        """A text as it is asked, as far as it is looked at; empty where it is blank."""
        lookable = _SURROGATES.sub("\ufffd", given[: _LOOKED_AT * (self.max_bytes + 1)])
        return " ".join(NORMAL_FORMS[self.normalize](" ".join(lookable.split())).split())

    def is_word(self, word: str) -> bool:
        """Whether a text is a word as it is asked, and not too long."""
        return bool(word) and self.word(word) == word and len(word.encode()) <= self.max_bytes

    @property
    def long(self) -> str:
        """What stands for every word that has too many bytes."""
        return "\u2026" * self.max_bytes

    def imprint(self, word: str) -> Imprint | None:
        """That of a word as it is asked; None where it is too long."""
        found = self.code.of(word, self.max_bytes)
        return (None, found)[found.fits and len(word.encode()) <= self.max_bytes]

    def apart(self) -> tuple[str, str]:
        """Two words."""
        return "one", "two"

    @property
    def annotation(self) -> str:
        """Values are texts."""
        return "str"

    def place(self, value: str, level: int) -> int:
        """The cell that the word is in; the last one, where it is too long."""
        found = self.code.of(value, self.max_bytes)
        return (CELLS, found.cells[level])[found.fits & (len(value.encode()) <= self.max_bytes)]
