"""What the files of commands share: how a command is told, and what several of them take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from deniable._parser import Parser

__all__ = [
    "ENDPOINT",
    "PAGE",
    "CommandParser",
    "Parser",
    "UsageError",
    "add_http",
    "command",
    "listening",
    "part",
    "positive",
]

ENDPOINT = "127.0.0.1:8470"
PAGE = "127.0.0.1:8471"


class UsageError(Exception):
    """What was asked for can not be done; the message says what can."""


class CommandParser(Parser):
    """What a command is told; some are told of their settings elsewhere, too."""

    settings_of: str = ""
    """The command whose settings it is told, where these are not its own."""
    elsewhere: Callable[[CommandParser, Sequence[str]], list[str]] | None = None
    """Adds to the words of a command line what is said elsewhere."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read the words, and what is added to them."""
        words = list(args or ())
        return super().parse_known_args(self.elsewhere(self, words) if self.elsewhere else words, namespace)

    def actions(self) -> list[argparse.Action]:
        """What takes words."""
        return list(self._actions)

    def instead_of(self, action: argparse.Action) -> list[argparse.Action]:
        """One of them, and those that can not be told beside it."""
        groups = [group for group in self._mutually_exclusive_groups if action in group._group_actions]  # noqa: SLF001 - argparse has no word for it
        return [action, *(each for group in groups for each in group._group_actions)]  # noqa: SLF001


def command(commands: Any, name: str, run: Callable[[Any], int | None], what: str, example: str) -> CommandParser:
    parser: CommandParser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"example:\n    deniable {name} {example}".rstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, a whole number, not {text!r}")
    return int(text)


def part(text: str) -> float:
    """A number between 0 and 1, as such or in percent."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"takes a number between 0 and 1, such as 2% or 0.02, not {text!r}")
    return number


def add_http(parser: Parser) -> None:
    parser.add_argument(
        "--http",
        default=PAGE,
        type=_address,
        metavar="HOST:PORT",
        help="where the page, its API and /metrics are, for anybody who can reach it; or off (%(default)s)",
    )


def _address(text: str) -> str | None:
    if text == "off":
        return None
    host, _, port = text.rpartition(":")
    if not (host and _is_port(port)):
        raise argparse.ArgumentTypeError(f"takes HOST:PORT, such as {_meant(text, PAGE)}, or off, not {text!r}")
    return text


def listening(text: str) -> str:
    """Where to take reports: a port alone may be meant for this machine, or for all."""
    _, colon, port = text.rpartition(":")
    if not (colon and _is_port(port)):
        raise argparse.ArgumentTypeError(f"takes HOST:PORT, such as {_meant(text, ENDPOINT)}, not {text!r}")
    return text


def _is_port(text: str) -> bool:
    return text.isdecimal() and int(text) < 1 << 16


def _meant(text: str, otherwise: str) -> str:
    """An address with what was said of it, be it the port or the host."""
    _, colon, port = text.rpartition(":")
    if _is_port(port):
        return f"127.0.0.1:{port}"
    return otherwise if colon or not text else f"{text}:{otherwise.rpartition(':')[2]}"
