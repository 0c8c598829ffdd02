"""The file of counters: what its lines say, how they are written, and what is wrong with one that is not ours.

A file is lines of JSON, each an object with exactly these keys:

    {"deniable counters": 1, "release": "0.1.0", "simulated": false}            first: the form's number
    {"doubt": 20410, "collection": "editor", "epoch_seconds": 86400, "reason": "restored"}
    {"digest": "00f1...", "collection": "editor", "epoch_seconds": 86400}       then its epochs
    {"epoch": 20411, "until": 1798761600, "origins": ["5b0e..."]}               then its counters
    {"column": 0, "segment": 2, "first": 0, "counters": [17, 4]}
    {"lines": 1234, "sha256": "9c..."}                                          last: of all bytes before this line

Everything is in order (doubts by collection and epoch, collections by digest, epochs by number, counters by column,
segment and first), so that nothing can be said twice, and a file is no longer than what it is about. It has sums, and
nothing that was added: no ids, no times, no reports.

words:
  until    the second since 1970 at which the counters of an epoch end, as their store would have had it
  origins  whose devices' counters they are: the identities of stores
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from deniable_aggregator.ingest import Layout
from deniable_aggregator.store import IDENTITY_BYTES, MOST_DOUBTS, MOST_REASON, Doubted, EpochKey

__all__ = [
    "LONGEST_KEPT",
    "MOST_COUNTERS",
    "Beginning",
    "Doubtful",
    "Epoch",
    "FileFault",
    "Lines",
    "Part",
    "lines_of",
]

FORM = 1
MOST_COUNTERS = 1 << 14
"""Of a line."""
MOST_EPOCHS = 50_000
"""Of a file: a hundred collections for longer than counters are kept."""
_MOST_LINE = 512 << 10
"""Bytes: that many counters of twenty digits, and room to spare."""
_MOST_ORIGINS = 1000
_MOST_NAMED = 1_000_000
"""Origins of all epochs of a file together: 20 of each, where there are as many epochs as there can be. They are kept
until all of the file has been checked, and so are doubts, of which there are as many as a store can have."""
_LARGEST = 1 << 56
"""Of a counter: sums of a hundred files stay within 63 bits."""
_LAST_SECOND = (1 << 32) - 1
_AHEAD_SECONDS = 86_400
LONGEST_KEPT = 20 * 366 * 86_400
"""Of counters, after their epoch."""


class FileFault(ValueError):  # noqa: N818  (what happened is the better name)
    """A file is not what was to be read; says which line, and what is wrong with it."""


class Beginning(NamedTuple):
    """The first line."""

    simulated: bool


class Doubtful(NamedTuple):
    """What an operator said of an epoch."""

    doubted: Doubted
    reason: str


class Epoch(NamedTuple):
    """An epoch whose counters follow."""

    key: EpochKey
    layout: Layout
    until: int
    origins: tuple[bytes, ...]


class Part(NamedTuple):
    """Some counters of one column in one segment, from one of them on."""

    column: int
    segment: int
    first: int
    counters: list[int]


Line = Beginning | Doubtful | Epoch | Part


class Lines:
    """Writes a file, line by line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._number = 0

    def say(self, **line: Any) -> None:
        """Write a line."""
        text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        self._file.write(text)
        self._digest.update(text)
        self._number += 1

    def begin(self, release: str, *, simulated: bool) -> None:
        """Write the first one."""
        self.say(**{"deniable counters": FORM}, release=release, simulated=simulated)

    def end(self) -> bytes:
        """Write the last one; the digest of all before it."""
        digest = self._digest.digest()
        self.say(lines=self._number, sha256=digest.hex())
        return digest


@dataclass
class _Checker:
    """Reads lines one after another, of a file that may be anybody's."""

    layouts: Mapping[int, Layout]
    now: float = field(default_factory=time.time)
    number: int = 0
    layout: Layout | None = None
    epoch: Epoch | None = None
    part: tuple[int, int, int] | None = None
    doubt: Doubted | None = None
    digest: int = -1
    epochs: int = 0
    doubts: int = 0
    named: int = 0

    def fault(self, what: str) -> FileFault:
        """What is wrong with the line that is read."""
        return FileFault(f"line {self.number}: {what}")

    def line(self, line: Mapping[str, Any]) -> Line | None:
        """What a line says; None for one that only leads to others."""
        for key, read in _FORMS.items():
            if key in line:
                return read(self, line)
        raise self.fault(f"says none of {', '.join(_FORMS)}")

    def begun(self, line: Mapping[str, Any]) -> Line:
        self._keys(line, "deniable counters", "release", "simulated")
        if self.number != 1:
            raise self.fault("begins a file in the midst of one")
        form = line["deniable counters"]
        if form != FORM or type(form) is not int:
            raise self.fault(
                f"is of form {json.dumps(form)[:20]}, and this release reads form {FORM}: import it with the release "
                "that wrote it"
            )
        if not isinstance(line["simulated"], bool) or not isinstance(line["release"], str):
            raise self.fault("takes a release, and whether devices were simulated")
        return Beginning(line["simulated"])

    def doubtful(self, line: Mapping[str, Any]) -> Line:
        self._keys(line, "doubt", "collection", "epoch_seconds", "reason")
        name, reason = line["collection"], line["reason"]
        own = Doubted(
            name, self._whole(line, "epoch_seconds", 1, _LAST_SECOND), self._whole(line, "doubt", 0, _LAST_SECOND)
        )
        if not any((layout.name, layout.epoch_seconds) == own[:2] for layout in self.layouts.values()):
            raise self.fault("doubts an epoch of a collection that was not given")
        if not isinstance(reason, str) or not (1 <= len(reason) <= MOST_REASON and reason.isprintable()):
            raise self.fault(f"a reason is one line of 1 to {MOST_REASON} characters")
        if self.digest >= 0 or (self.doubt is not None and own <= self.doubt):
            raise self.fault("doubts come before collections, in order, and each once")
        self.doubts += 1
        if self.doubts > MOST_DOUBTS:
            raise self.fault(f"a file doubts {MOST_DOUBTS} epochs at most: export fewer at a time")
        self.doubt = own
        return Doubtful(own, reason)

    def collection(self, line: Mapping[str, Any]) -> None:
        self._keys(line, "digest", "collection", "epoch_seconds")
        text = line["digest"]
        if not isinstance(text, str) or len(text) != 16 or any(letter not in "0123456789abcdef" for letter in text):
            raise self.fault("a digest has 16 digits of 0 to 9 and a to f")
        digest = int(text, 16)
        layout = self.layouts.get(digest)
        if layout is None:
            raise self.fault(
                f"has counters of collection {text}, of which no file was given: name it, or a directory that has it"
            )
        if (line["collection"], line["epoch_seconds"]) != (layout.name, layout.epoch_seconds):
            raise self.fault(f"collection {text} has another name, or other epochs, than in its own file")
        if digest <= self.digest:
            raise self.fault("collections come in the order of their digests, and each once")
        self.digest, self.layout, self.epoch, self.part = digest, layout, None, None

    def epoch_begins(self, line: Mapping[str, Any]) -> Line:
        self._keys(line, "epoch", "until", "origins")
        if self.layout is None:
            raise self.fault("an epoch is of a collection, which comes before it")
        number = self._whole(line, "epoch", 0, _LAST_SECOND)
        if self.epoch is not None and number <= self.epoch.key.epoch:
            raise self.fault("epochs come in order, and each once")
        if number * self.layout.epoch_seconds > self.now + _AHEAD_SECONDS:
            raise self.fault(f"epoch {number} has not begun")
        ends = (number + 1) * self.layout.epoch_seconds
        until, said = self._whole(line, "until", 0, min(ends + LONGEST_KEPT, _LAST_SECOND)), line["origins"]
        if not isinstance(said, list) or not 1 <= len(said) <= _MOST_ORIGINS:
            raise self.fault(f"there are 1 to {_MOST_ORIGINS} origins")
        origins = tuple(self._identity(each) for each in said)
        if len(set(origins)) < len(origins):
            raise self.fault("an origin is said twice")
        self.named += len(origins)
        if self.named > _MOST_NAMED:
            raise self.fault(
                f"the epochs of a file have {_MOST_NAMED} origins together at most: export fewer at a time"
            )
        self.epochs += 1
        if self.epochs > MOST_EPOCHS:
            raise self.fault(f"a file has {MOST_EPOCHS} epochs at most: export fewer at a time")
        self.epoch = Epoch(EpochKey(self.layout.digest, number), self.layout, until, origins)
        self.part = None
        return self.epoch

    def counted(self, line: Mapping[str, Any]) -> Line:
        self._keys(line, "column", "segment", "first", "counters")
        if self.epoch is None:
            raise self.fault("counters are of an epoch, which comes before them")
        layout, counters = self.epoch.layout, line["counters"]
        column = self._whole(line, "column", 0, len(layout.columns) - 1)
        segment = self._whole(line, "segment", 0, layout.segments - 1)
        size = layout.columns[column][1].counters
        first = self._whole(line, "first", 0, size - 1)
        if not isinstance(counters, list) or not 1 <= len(counters) <= min(size - first, MOST_COUNTERS):
            raise self.fault(f"column {column} has {size} counters, and a line {MOST_COUNTERS} of them at most")
        for each in counters:
            if type(each) is not int or abs(each) >= _LARGEST:
                raise self.fault(f"a counter is a whole number within 2^56, not {json.dumps(each)[:40]}")
        if self.part is not None and (column, segment, first) <= self.part:
            raise self.fault("counters come in the order of column, segment and first, and each once")
        self.part = (column, segment, first + len(counters) - 1)
        return Part(column, segment, first, counters)

    def _keys(self, line: Mapping[str, Any], *keys: str) -> None:
        if set(line) != set(keys):
            raise self.fault(f"has {', '.join(sorted(line))[:200]}: it takes {', '.join(keys)}")

    def _whole(self, line: Mapping[str, Any], key: str, least: int, most: int) -> int:
        found = line[key]
        if type(found) is not int or not least <= found <= most:
            raise self.fault(f"{key} is a whole number of {least} to {most}, not {json.dumps(found)[:40]}")
        return found

    def _identity(self, said: Any) -> bytes:
        try:
            found = bytes.fromhex(said) if isinstance(said, str) and len(said) == 2 * IDENTITY_BYTES else b""
        except ValueError:
            found = b""
        if len(found) != IDENTITY_BYTES:
            raise self.fault(f"an origin has {2 * IDENTITY_BYTES} hexadecimal digits")
        return found


_FORMS: Mapping[str, Callable[[_Checker, Mapping[str, Any]], Line | None]] = {
    "deniable counters": _Checker.begun,
    "doubt": _Checker.doubtful,
    "digest": _Checker.collection,
    "epoch": _Checker.epoch_begins,
    "counters": _Checker.counted,
}


def lines_of(file: IO[bytes], layouts: Mapping[int, Layout]) -> Iterator[Line | bytes]:
    """What a file says, line by line, and in the end its digest; a FileFault for the first line that is wrong."""
    check, digest = _Checker(layouts), hashlib.sha256()
    while text := file.readline(_MOST_LINE + 1):
        check.number += 1
        line = _read(check, text)
        if check.number == 1 and "deniable counters" not in line:
            raise check.fault("is not how a file of `deniable export` begins")
        if "sha256" in line:
            if line != {"lines": check.number - 1, "sha256": digest.hexdigest()}:
                raise check.fault("the file is not as it was written: copy it again")
            if file.read(1):
                raise check.fault("something comes after the end")
            yield digest.digest()
            return
        digest.update(text)
        found = check.line(line)
        if found is not None:
            yield found
    check.number += 1
    raise check.fault("the file ends here, and its last line is missing: copy it again")


def _read(check: _Checker, text: bytes) -> Mapping[str, Any]:
    if len(text) > _MOST_LINE:
        raise check.fault(f"is longer than {_MOST_LINE} bytes")
    if not text.endswith(b"\n"):
        raise check.fault("does not end: the file is cut off, copy it again")
    try:
        line = json.loads(text.decode(), object_pairs_hook=_once)
    except RecursionError:
        raise check.fault("is no line of such a file") from None
    except ValueError as error:
        raise check.fault(f"is no JSON: {str(error)[:100]}") from None
    if not isinstance(line, dict):
        raise check.fault("is no object")
    return line


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found
