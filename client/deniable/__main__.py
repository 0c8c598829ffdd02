"""`python -m deniable [STATE] [COMMAND]`, for the person whose device it is; exit code 0, or a one-line error, 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deniable
from deniable._parser import Parser
from deniable._paths import told, unheard
from deniable.device.consent import Consent, of_environment
from deniable.errors import StateError
from deniable.person import consent, forget, ledger, transcript
from deniable.person.device import Device, devices, known, look
from deniable.person.view import view
from deniable.person.words import counted, plain

__all__ = ["main"]

_UNHEARD = 141
"""The exit code where nobody reads what is written: what a shell says of a program that SIGPIPE has ended."""
_ABOUT = """\
What applications that use Deniable have sent from this device, what it cost, and how to stop.

STATE is the file that an application keeps. Without it those are shown that are found where applications are told to
put them. Reading changes nothing, and an application may have the file open.
"""
_EXAMPLES = """\
examples:
    python -m deniable                              the state files that are found
    python -m deniable view                         a page that shows all of them
    python -m deniable STATE transcript             what was sent
    python -m deniable STATE ledger                 what it cost
    python -m deniable STATE consent withheld       collect and send nothing from now on
    python -m deniable STATE forget                 erase what the device keeps of you
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    state = Path(given.pop(0)) if given and given[0] not in _COMMANDS and not given[0].startswith("-") else None
    try:
        options = _parser().parse_args(given)
    except SystemExit as ended:  # help was asked for, or what was said can not be understood
        raise SystemExit(_write("") or ended.code) from None
    try:
        shown = _COMMANDS[options.command](state, options) if options.command else _listed(state)
    except (StateError, OSError) as error:
        sys.stderr.write(f"deniable: {plain(told(error) if isinstance(error, OSError) else error)}\n")
        return 2
    except KeyboardInterrupt:
        return 2
    return _write("\n".join(shown) + "\n")


def _write(text: str) -> int:
    """To a terminal of whatever signs; to a reader that has seen enough, as `head` has, in silence."""
    coding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(coding, "backslashreplace").decode(coding))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written as this ends
        if isinstance(error, BrokenPipeError):
            return _UNHEARD
        sys.stderr.write(f"deniable: {plain(unheard(error))}\n")
        return 2
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="python -m deniable [STATE]",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"deniable {deniable.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    commands.add_parser("transcript", help="what was sent, in words, and what someone who saw it could conclude")
    commands.add_parser("ledger", help="what it cost, and what it may cost")
    saying = commands.add_parser("consent", help="what you have said, or with a word: say something else")
    saying.add_argument("word", nargs="?", choices=[word.value for word in Consent])
    forgetting = commands.add_parser("forget", help="erase what the device keeps of you, and collect nothing more")
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    viewing = commands.add_parser("view", help="a page that shows all of it, in the browser")
    viewing.add_argument("--to", type=Path, metavar="FILE", help="write it there (a new directory)")
    viewing.add_argument("--no-open", action="store_true", help="write it and open nothing")
    return parser


def _listed(state: Path | None) -> list[str]:
    """What is found, and what can be done with it."""
    shown = []
    for path in known() if state is None else [state]:
        try:
            shown += _summary(look(path))
        except StateError as error:
            if state is not None:
                raise
            shown.append(plain(error))
    if not shown:
        devices(None)  # says that there is none, and what to do
    return [*shown, "", _EXAMPLES.rstrip()]


def _summary(device: Device) -> list[str]:
    who = ", ".join(f"{plain(name, 60)} (asked by {plain(asked.owner, 200)})" for name, asked in device.asked.items())
    left = counted(len(device.entries), "report that left is listed", "reports that left are listed")
    waits = counted(device.waiting, "batch waits", "batches wait")
    return [
        plain(device.path),
        *([f"    {who}"] if who else []),
        *(f"    {line}" for line in consent.lines(device)),
        f"    {ledger.total(device)} {left}, {waits}.",
    ]


def _read(state: Path | None, show: Any) -> list[str]:
    """What a command shows of each device, below its name where there are several."""
    found = devices(state)
    if len(found) == 1:
        return list(show(found[0]))
    shown = []
    for device in found:
        shown += [plain(device.path), "", *show(device), ""]
    return shown[:-1]


def _one(state: Path | None) -> Path:
    """The one file that is to be changed."""
    if state is not None:
        return state
    found = [device.path for device in devices(None)]
    if len(found) > 1:
        raise StateError(f"which one? {', '.join(map(str, found))}: python -m deniable STATE COMMAND")
    return found[0]


def _consent(state: Path | None, options: Any) -> list[str]:
    if options.word is None:
        here = of_environment(os.environ, count_ci=True).why
        held = [f"For what is started from here: {here}."] if here else []
        words = [f"    {word.value}: {means}" for word, means in consent.CHOICES.items()]
        how = "To say something else: python -m deniable STATE consent WORD"
        return [*_read(state, consent.lines), *held, how, *words]
    return consent.change(_one(state), Consent(options.word))


def _forget(state: Path | None, options: Any) -> list[str]:
    path = _one(state)
    look(path)
    if not options.yes:
        if not sys.stdin.isatty():
            raise StateError(f"{path}: nothing was erased: say --yes, or run it where it can ask you")
        _write(f"{path}\n{forget.ERASES}\n")
        if input("Erase it? Type yes: ").strip().lower() != "yes":
            return ["Nothing was erased."]
    return forget.forget(path)


_COMMANDS: dict[str, Callable[[Path | None, Any], list[str]]] = {
    "transcript": lambda state, _: _read(state, transcript.lines),
    "ledger": lambda state, _: _read(state, ledger.lines),
    "consent": _consent,
    "forget": _forget,
    "view": lambda state, options: view(devices(state), options.to, opened=not options.no_open),
}


if __name__ == "__main__":
    sys.exit(main())
