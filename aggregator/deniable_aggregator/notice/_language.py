"""A language: sentences from a file, into which numbers and names are filled."""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from deniable import odds
from deniable._paths import why

__all__ = ["Language", "LanguageError", "languages"]

_FIRST = "en"
"""The language that has all keys, and says what can be filled in."""
_Sentences = Mapping[str, Mapping[str, str]]


class LanguageError(ValueError):
    """A file of sentences that is not complete, or can not be read; the message says what is missing."""


def languages() -> list[str]:
    """Those that are shipped."""
    return sorted(each.name.removesuffix(".toml") for each in _shipped().iterdir() if each.name.endswith(".toml"))


class Language:
    """The sentences of one language."""

    def __init__(self, sentences: _Sentences) -> None:
        self._sentences = sentences
        self.code = sentences["form"]["code"]
        """As pages name it, such as "en"."""

    @classmethod
    def of(cls, name: str) -> Language:
        """One that is shipped, by its name, or that of a file; LanguageError where it is not complete."""
        if name in languages():
            return cls(_read(name))
        path = Path(name)
        if not path.suffix and not path.exists():
            raise LanguageError(f"{name!r} is none of {', '.join(languages())}, and no file of sentences")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LanguageError(f"{name}: can not be read: {why(error)}") from error
        try:
            given = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also integers and brackets by the thousand
            raise LanguageError(f"{name}: not TOML: {error}") from error
        if wrong := list(_problems(given, _read(_FIRST))):
            more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise LanguageError(f"{name}: {wrong[0]}{more}")
        return cls(given)

    def __call__(self, key: str, **values: object) -> str:
        """What is said under a key, such as "people.title", with what is to be filled in."""
        table, _, name = key.partition(".")
        return self._sentences[table][name].format(**values)

    def number(self, value: float, places: int = 0) -> str:
        """A number as it is written."""
        return self.digits(f"{value:,.{places}f}")

    def digits(self, text: str) -> str:
        """A number that is written as in English, as it is written here."""
        signs = {",": self("form.thousands"), ".": self("form.decimal")}
        return "".join(signs.get(sign, sign) for sign in text)

    def short(self, value: float) -> str:
        """A number with no more digits than it has."""
        text = f"{value:.6g}"
        return text.replace(".", self("form.decimal")) if "e" not in text else text

    def percent(self, chance: float) -> str:
        """A chance in whole percent, where it is not near an end."""
        places = 0 if 0.1 <= chance <= 0.9 else 1
        return self("form.percent", number=self.number(100 * chance, places))

    def odds(self, chance: float) -> str:
        """How sure somebody is, such as 3 in 4: never less than the chance."""
        parts = odds.parts(chance)
        if parts is None:
            return self("form.certain")
        return self("form.odds", part=self.number(parts[0]), whole=self.number(parts[1]))

    def chance(self, chance: float) -> str:
        """A small chance, as one in so many: never less than it is."""
        return self("form.chance", part=1, whole=self.number(math.floor(1 / chance + 1e-9)))

    def listed(self, names: list[str]) -> str:
        """Names in a row."""
        return self("form.listed", first=", ".join(names[:-1]), last=names[-1]) if len(names) > 1 else "".join(names)


def _shipped() -> Any:
    return resources.files(__package__).joinpath("languages")


@cache
def _read(name: str) -> _Sentences:
    found: _Sentences = tomllib.loads(_shipped().joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return found


def _problems(given: Mapping[str, Any], first: _Sentences) -> Iterator[str]:
    """What is missing of a language, or too much, key by key."""
    for table, sentences in first.items():
        own = given.get(table, {})
        if not isinstance(own, dict):
            yield f"{table} is a table"
            continue
        for key, sentence in sentences.items():
            if not isinstance(said := own.get(key), str) or not said.strip():
                yield f"{table}.{key} is missing: in English, {sentence!r}"
            else:
                yield from _unfit(f"{table}.{key}", said, _filled(sentence))
        yield from (f"{table}.{key} is said nowhere" for key in own.keys() - sentences.keys())
    yield from (f"[{table}] is said nowhere" for table in given.keys() - first.keys())


def _unfit(key: str, sentence: str, known: set[str]) -> Iterator[str]:
    try:
        unknown = _filled(sentence) - known
    except ValueError as error:
        yield f"{key}: braces that do not fit: {error}"
        return
    if unknown:
        takes = f"it has {', '.join(f'{{{each}}}' for each in sorted(known))}" if known else "nothing is filled in"
        yield f"{key}: {', '.join(f'{{{each}}}' for each in sorted(unknown))} is not known there: {takes}"


def _filled(sentence: str) -> set[str]:
    """What is filled into a sentence; a ValueError where it is said how: it is written as the language has it."""
    parts = list(string.Formatter().parse(sentence))
    if said := [name for _, name, how, ends in parts if how or ends]:
        raise ValueError(f"{{{said[0]}}} is all that is said of what is filled in")
    return {name for _, name, _, _ in parts if name is not None}
