"""What a command is told by its flags, by the environment and by a file: who says it first is heard, in this order.

words:
  setting  what an option says: `--tls-cert FILE`, `tls_cert = "FILE"` in a file, and DENIABLE_SERVE_TLS_CERT
  source   the environment, or a file: what it says is checked whether it is heard or not, and errors name the place

A file is TOML; its paths begin where it is. An address with a password belongs neither into a flag, which everybody
sees who may list processes, nor into a file that everybody may read.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from deniable._section import hint
from deniable_aggregator.commands._command import CommandParser, UsageError

__all__ = ["FILE", "Setting", "said_elsewhere", "settings"]

FILE = "config"
"""The setting that says where the file is; no file says it."""
_ADDRESS = "URL"
"""What takes the address of a store."""
_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


class Setting(NamedTuple):
    """One of a command's."""

    name: str
    """In a file."""
    variable: str
    """In the environment."""
    action: argparse.Action
    """What takes it."""

    @property
    def option(self) -> str:
        """The flag; empty for what a command takes without one."""
        return self.action.option_strings[-1] if self.action.option_strings else ""

    @property
    def several(self) -> bool:
        """Whether it can be said several times."""
        return self.action.nargs == "+" or isinstance(self.action.default, list)

    @property
    def a_switch(self) -> bool:
        """Whether it is on or off."""
        return self.action.nargs == 0


def settings(parser: CommandParser) -> dict[str, Setting]:
    """Those of a command, by their names."""
    return {
        action.dest: Setting(action.dest, f"{_prefix(parser)}{action.dest.upper()}", action)
        for action in parser.actions()
        if action.default is not argparse.SUPPRESS  # --help
    }


def said_elsewhere(
    parser: CommandParser, words: Sequence[str], environment: Mapping[str, str] = os.environ
) -> list[str]:
    """The words of a command line, and what the environment and the file say and these words do not."""
    known = settings(parser)
    named = _named([Setting(action.dest, "", action) for action in parser.actions()], words)
    said = [_said_in_variables(parser, known, environment)]
    if file := _file(words) or environment.get(known[FILE].variable):
        said.append(_said_in(Path(file), known))
    more: list[str] = []
    for source in said:
        for name, value in source.items():
            if named.isdisjoint(action.dest for action in parser.instead_of(known[name].action)):
                more += _words(known[name], value)
        named |= source.keys()
    return [*words, *more]


def _named(known: Sequence[Setting], words: Sequence[str]) -> set[str]:
    """What words of a command line are of."""
    by_option = {own.option: own for own in known}
    found, left = set(), iter(words)
    for word in left:
        option, equals, _ = word.partition("=")
        own = by_option.get(option) if word.startswith("--") else by_option[""]
        if own is not None:  # else the parser says that there is none
            found.add(own.name)
            if own.option and not equals and not own.a_switch:
                next(left, None)
    return found


def _said_in_variables(
    parser: CommandParser, known: Mapping[str, Setting], environment: Mapping[str, str]
) -> dict[str, Any]:
    variables = {each.variable: each for each in known.values()}
    found = {}
    for variable, text in environment.items():
        if not variable.startswith(_prefix(parser)):
            continue
        if variable not in variables:
            raise UsageError(f"{variable}: there is no such setting; {hint(variable, variables)}")
        own = variables[variable]
        if own.name != FILE:
            found[own.name] = _checked(own, text.split() if own.several else text, variable)
    return found


def _prefix(parser: CommandParser) -> str:
    return (parser.settings_of or parser.prog).upper().replace(" ", "_") + "_"


def _file(words: Sequence[str]) -> str | None:
    """What the flags say of the file."""
    flag = f"--{FILE}"
    found = None
    for word, after in zip_longest(words, words[1:]):
        if word == flag:
            found = after
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def _said_in(file: Path, known: Mapping[str, Setting]) -> dict[str, Any]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also integers and brackets by the thousand
        raise UsageError(f"{file}: is no TOML: {error}") from error
    names = known.keys() - {FILE}
    for name in table:
        if name not in names:
            raise UsageError(f"{file}: {name}: there is no such setting; {hint(name, names)}")
    return {
        name: _checked(known[name], _from(file.parent, known[name], value), f"{file}: {name}")
        for name, value in table.items()
    }


def _from(directory: Path, own: Setting, value: Any) -> Any:
    """A value, with paths that begin where the file is."""
    if own.action.type is not Path:
        return value
    if isinstance(value, list):
        return [_from(directory, own, each) for each in value]
    return str(directory / value) if isinstance(value, str) else value


def _checked(own: Setting, value: Any, where: str) -> Any:
    """What a source says, as the words of a command line have it."""
    if own.a_switch:
        return _switch(value, where)
    if own.several:
        if not (isinstance(value, list) and value):
            raise UsageError(f"{where}: takes a list, such as [{_example(own)}], not {_shown(own, value)}")
        return [_text(own, each, where) for each in value]
    return _text(own, value, where)


def _switch(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _YES | _NO:
        return value.lower() in _YES
    raise UsageError(f"{where}: takes true or false, not {value!r}")


def _text(own: Setting, value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{where}: takes one value, not {_shown(own, value)}")
    check: Any = own.action.type or str
    try:
        check(str(value))
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from error
    return str(value)


def _shown(own: Setting, value: Any) -> str:
    """What was said instead; of an address, which may have a password, what sort of value it is."""
    return f"a {type(value).__name__}" if own.action.metavar == _ADDRESS else repr(value)


def _example(own: Setting) -> str:
    return f'"{own.action.metavar or own.name}"'


def _words(own: Setting, value: Any) -> Iterator[str]:
    if own.a_switch:
        yield from [own.option] if value else []
    else:
        before = f"{own.option}=" if own.option else ""
        yield from (f"{before}{each}" for each in (value if own.several else [value]))
