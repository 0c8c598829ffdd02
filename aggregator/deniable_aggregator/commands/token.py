"""`deniable token`: who is let in, in the file that `deniable serve --tokens` reads.

words:
  id  the first digits of a token's hash: enough of them to tell it from the others of its file
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Collection, CollectionError
from deniable._section import hint
from deniable_aggregator.caller import READ, REPORT
from deniable_aggregator.commands._command import Parser, UsageError, command

if TYPE_CHECKING:
    from deniable_aggregator.serving.rates import Rate
    from deniable_aggregator.serving.tokens import Grant

__all__ = ["PREFIX", "add"]

PREFIX = "dnb_"
"""What every token begins with, so that whoever looks for secrets in places where they do not belong finds it."""
_BYTES = 32
_ID_DIGITS, _LEAST_DIGITS = 12, 8
_MOST_NOTE = 200


def add(commands: Any) -> None:
    """Add `deniable token` to the commands, with what it does."""
    what = "who is let in: makes, lists and revokes tokens in a file that an aggregator may be reading"
    parser = command(
        commands, "token", run, what, "new tokens --scope report --rate 100/s --burst 500 > gateway.token"
    )
    acts = parser.add_subparsers(metavar="ACT", required=True, dest="act")
    new = _act(acts, "new", "make a token, and write it to standard output, once; the file has its hash alone")
    new.add_argument("--scope", required=True, choices=(REPORT, READ), help="what it is good for")
    new.add_argument(
        "--collection", action="append", default=[], metavar="NAME", help="only for this one; several times (for all)"
    )
    new.add_argument(
        "--expires", type=_expires, metavar="DAY", help="good for nothing from this day on, in UTC; or 90d from today"
    )
    new.add_argument(
        "--rate", metavar="N/s", help="with --scope report: so many batches a second (N/m, N/h), whoever has it (any)"
    )
    new.add_argument("--burst", metavar="N", help="with --rate: so many at once (what comes in ten seconds)")
    new.add_argument("--note", default="", type=_note, metavar="TEXT", help="what helps people, in a line")
    _act(acts, "list", "say what the tokens of a file are good for, and their ids")
    revoke = _act(acts, "revoke", "take a token out: within a second it is refused, and its streams end")
    revoke.add_argument("id", metavar="ID", help="as list says it, or all of the SHA-256 of a token")


def _act(acts: Any, name: str, what: str) -> Parser:
    parser: Parser = acts.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
    parser.add_argument("file", type=Path, metavar="FILE", help="as deniable serve --tokens is told it")
    return parser


def _expires(text: str) -> date:
    from deniable_aggregator.analysis.dates import seconds_of

    today = datetime.now(UTC).date()
    try:
        found = date.fromisoformat(text) if "-" in text else today + timedelta(seconds=seconds_of(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"takes a day such as 2027-03-01, or 90d, not {text!r}") from None
    if found <= today:
        raise argparse.ArgumentTypeError(f"takes a day to come: on {found} it would be good for nothing already")
    return found


def _note(text: str) -> str:
    if len(text) > _MOST_NOTE or not text.isprintable():
        raise argparse.ArgumentTypeError(f"takes one line of at most {_MOST_NOTE} characters")
    return text.strip()


def run(options: Any) -> None:
    """Run `deniable token` with the options that were given."""
    {"new": _new, "list": _list, "revoke": _revoke}[options.act](options)


def _new(options: Any) -> None:
    from deniable_aggregator.serving.tokens import Grant, grant_of, hashed

    token = PREFIX + secrets.token_hex(_BYTES)
    names = frozenset(options.collection) or None
    grant = Grant(options.scope, names, options.expires, hashed(token), options.note, _rate(options))
    try:
        if grant_of(grant.line()) != grant:
            raise ValueError(grant.line())
    except ValueError as error:
        raise UsageError(
            f"--collection takes the name of a collection, not {', '.join(options.collection)}"
        ) from error
    with _changing(options.file, begin=True) as lines:
        lines.append(grant.line())
    print(token)
    for name in options.collection:
        if remark := _unknown(name, options.file.resolve().parent):
            print(remark, file=sys.stderr)
    print(f"{_said(grant)}; this is the only time that it is shown", file=sys.stderr)


def _rate(options: Any) -> Rate | None:
    """What the token may bring."""
    from deniable_aggregator.serving.rates import rate_of

    if options.rate is None:
        if options.burst is not None:
            raise UsageError("--burst goes with --rate, of which it is a part: say --rate 100/s, too")
        return None
    if options.scope != REPORT:
        raise UsageError("--rate goes with --scope report: it counts batches, and a token to read brings none")
    try:
        return rate_of(options.rate, options.burst)
    except ValueError as error:
        raise UsageError(f"--rate {error}" if options.burst is None else f"--rate and --burst: {error}") from error


def _unknown(name: str, directory: Path) -> str:
    """That a collection is none of those whose files are beside the file of tokens, where a service has them."""
    known = set()
    for file in (*directory.glob("*.toml"), *directory.glob("collections/*.toml")):
        with contextlib.suppress(CollectionError):
            known.add(Collection.load(file).name)
    if not known or name in known:
        return ""
    return f"note: no collection file in {directory} is of {name}; {hint(name, known)}"


def _list(options: Any) -> None:
    for _, grant in _granted(options.file, _lines(options.file)):
        print(_said(grant))


def _revoke(options: Any) -> None:
    wanted = options.id.lower()
    if len(wanted) < _LEAST_DIGITS or not set(wanted) <= set("0123456789abcdef"):
        raise UsageError(
            f"an id is {_LEAST_DIGITS} digits or more of what `deniable token list {options.file}` says; "
            "of a token that was found somewhere: printf %s TOKEN | sha256sum"
        )
    with _changing(options.file) as lines:
        own = [(at, each) for at, each in _granted(options.file, lines) if each.sha256.hex().startswith(wanted)]
        if len({each.sha256 for _, each in own}) != 1:
            how = "has no token of that id" if not own else "has several tokens of that id: say more digits"
            raise UsageError(f"{options.file} {how}; `deniable token list {options.file}` says all")
        for at, _ in reversed(own):
            del lines[at]
    for _, grant in own:
        print(f"revoked: {_said(grant)}")


def _said(grant: Grant) -> str:
    """What a token is good for, without anything that could be shown in its place."""
    limits = "all collections" if grant.collections is None else ", ".join(sorted(grant.collections))
    expired = grant.expires is not None and grant.expires <= datetime.now(UTC).date()
    ends = f"expire{'d' if expired else 's'} {grant.expires}" if grant.expires else "does not expire"
    rate = f"  {grant.rate}, {grant.rate.burst} at once" if grant.rate else ""
    said = f"{grant.sha256.hex()[:_ID_DIGITS]}  {grant.scope}  {limits}{rate}  {ends}"
    return f"{said}  {grant.note}" if grant.note else said


def _lines(file: Path) -> list[str]:
    from deniable_aggregator.serving.tokens import lines_of

    return lines_of(file)


def _granted(file: Path, lines: Sequence[str]) -> list[tuple[int, Grant]]:
    """The lines that grant something, each with its place."""
    from deniable_aggregator.serving.tokens import grants_of

    return [(at, each) for at, each in enumerate(grants_of(file, lines)) if each is not None]


@contextlib.contextmanager
def _changing(file: Path, *, begin: bool = False) -> Iterator[list[str]]:
    """The lines of a file, to be changed by one at a time: all of the change is there, or nothing of it."""
    file = file.resolve()
    with _alone(file.parent):
        lines = [] if begin and not file.exists() else _lines(file)
        _granted(file, lines)  # a file that serves nobody is not made longer
        yield lines
        _replace(file, "".join(f"{each}\n" for each in lines))


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Nobody else changes a file of this directory, by this command."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _replace(file: Path, text: str) -> None:
    """Put a text in place of a file, for its owner alone; one that was there for others to read stays so."""
    descriptor, fresh = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            if file.exists():  # an aggregator of another account may read it by its group
                before = file.stat()
                os.fchmod(opened.fileno(), before.st_mode & 0o644 | 0o600)
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(opened.fileno(), before.st_uid, before.st_gid)
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        Path(fresh).replace(file)
    except BaseException:
        Path(fresh).unlink()
        raise
