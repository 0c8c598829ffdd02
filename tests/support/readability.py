"""How easy a text is to read: Flesch's score, for English as Flesch has it and for German as Amstad does.

words:
  score      from below 0 to beyond 100, the greater the easier; 60 to 70 is plain, 80 to 90 easy (Flesch, 1948, of
             English; Amstad, 1978, of German, with the same grades)
  sentence   what ends with a full stop, a colon, a question mark or an exclamation mark
  syllables  are counted by groups of vowels, which is right for most words of either language
"""

from __future__ import annotations

import re

__all__ = ["score", "sentences", "syllables", "words"]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,]*")
_VOWELS = {"en": re.compile(r"[aeiouy]+"), "de": re.compile(r"aa|ai|au|äu|ei|eu|ie|oo|ee|[aeiouäöüy]")}


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [each.strip() for each in re.split(r"(?<=[.!?:])\s+", text) if _WORD.search(each)]


def words(text: str) -> list[str]:
    """The words of a text; a number is one."""
    return _WORD.findall(text)


def syllables(word: str, language: str) -> int:
    """How many a word has; a number counts as one, as people read it at a glance."""
    word = word.lower()
    found = len(_VOWELS[language].findall(word))
    if language == "en":
        silent = re.search(r"[^aeiouyl]e$|[^aeiouydt]ed$|[^aeiouycgsxzh]es$", word) or re.search(r"[aeiouy]le$", word)
        found -= bool(silent) and found > 1
        found += bool(re.search(r"io$|ia[nl]?$|[^aeiouy]ua", word))
    return max(found, 1)


def score(text: str, language: str) -> float:
    """Flesch's reading ease, or Amstad's for German."""
    every = words(text)
    length = len(every) / len(sentences(text))
    weight = sum(syllables(word, language) for word in every) / len(every)
    if language == "de":
        return 180 - length - 58.5 * weight
    return 206.835 - 1.015 * length - 84.6 * weight
