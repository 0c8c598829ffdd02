"""Reads what is typed at a terminal: options in full alone; what is none is told with what may have been meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from deniable._section import hint

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """Nothing is short for anything: `--debug` is not `--debug-view`, and `--y` erases nothing without asking."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """What is known; an error that names the first option that is not, before others say less of it."""
        found, left = super().parse_known_args(args, namespace)
        for word in left:
            option = word.partition("=")[0]
            if option.startswith("-"):
                self.error(f"no option {option}; {self._meant(option)}")
        return found, left

    def _meant(self, word: str) -> str:
        options = [option for option in self._option_string_actions if option.startswith("--")]
        begun = [option for option in options if option.startswith(word)]
        return f"did you mean {begun[0]!r}?" if len(begun) == 1 else hint(word, begun or options)
