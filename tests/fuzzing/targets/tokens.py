"""Files of tokens: nobody is let in by a line that does not say so, and what is read is written as it was meant."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path

from deniable_aggregator.caller import READ, REPORT
from deniable_aggregator.serving.tokens import Tokens, grant_of, grants_of, lines_of
from fuzzing.target import Target

__all__ = ["TARGET"]

_DIRECTORY = tempfile.TemporaryDirectory(prefix="deniable-tokens-")
_FILE = Path(_DIRECTORY.name) / "tokens"
_HASHES = [hashlib.sha256(bytes([number])).hexdigest() for number in range(2)]
_SEEDS = (
    f"report {_HASHES[0]} the editor\n# more\n\nread collections=editor,words expires=2027-03-01 {_HASHES[1]}\n",
    f"report collections=editor {_HASHES[0]}\nread {_HASHES[0].upper()}\texpires later\n",
    f"report rate=100/s burst=5 {_HASHES[0]} them\nreport collections=a rate=7/h expires=2027-12-31 {_HASHES[1]}\n",
    f"read expires=2027-12-31 {_HASHES[1]}\r\nreport expires=0001-01-01 {_HASHES[1]}\n",
)


def judge(data: bytes) -> str:
    """A file that is taken grants what its lines say one by one: a scope, a hash, and no more than its limits."""
    _FILE.write_bytes(data)
    try:
        tokens = Tokens(_FILE)
    except OSError as error:
        assert str(error)
        return "refused"
    granted = [each for each in grants_of(_FILE, lines_of(_FILE)) if each is not None]
    text = data.decode()
    for each in granted:
        assert each.scope in {READ, REPORT}
        assert len(each.sha256) == 32
        assert each.sha256.hex() in text.lower()
        assert grant_of(each.line()) == each
        assert each in tokens.of(each.sha256)
    assert len(granted) <= len(re.findall(r"(?:report|read)\s", text))
    said = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    limits = re.findall(r"\b(?:collections|rate|expires)=", said)
    kept = sum(
        (each.collections is not None) + (each.rate is not None) + (each.expires is not None) for each in granted
    )
    for each in granted:
        assert each.rate is None or (each.scope == REPORT and each.rate.batches * each.rate.burst)
    assert kept == len(limits), "a limit that is said and not kept"
    return "read" if granted else "nobody"


TARGET = Target(
    judge,
    lambda: [text.encode() for text in _SEEDS],
    frozenset({"read", "refused", "nobody"}),
    words=(
        b"report ",
        b"read ",
        b"collections=",
        b"expires=",
        b"rate=9/m ",
        b"burst=",
        b"#",
        _HASHES[0].encode(),
        "\u2028".encode(),
    ),
    text=True,
    longest=1000,
)
