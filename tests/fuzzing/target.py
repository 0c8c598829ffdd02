"""Fuzzing: inputs that nobody has thought of, and for each sort of input somebody who knows what is right.

words:
  target   a sort of input from outside: what judges one, what it begins with, and whose code is watched
  judge    takes any bytes and gives them to the product as they would come in. It says in a word what became of them,
           and raises where that is not right: by what an independent, plain reading of the same bytes says
  seeds    sound inputs, with which the search begins
  found    inputs that once were judged wrongly, or reach what others do not (`found/NAME.txt`): every run of the
           tests tries them
  guided   by coverage: an input that reaches code that no other has is kept, and changed further (`run.py`)

A target is a file in `targets/`, named in `WATCHED`. CONTRIBUTING.md says how one is added.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

__all__ = ["FOUND", "NAMES", "WATCHED", "Target", "found", "target"]

WATCHED = {
    "batches": ("deniable_aggregator.ingest",),
    "streams": ("deniable_aggregator.ingest",),
    "answers": ("deniable_aggregator.answers", "deniable_aggregator.estimators"),
    "collections": ("deniable", "tomllib"),
    "trees": ("deniable.collection", "deniable.kinds"),
    "states": ("deniable.device",),
    "tokens": ("deniable_aggregator.serving.tokens",),
    "questions": ("deniable_aggregator.analysis", "deniable_aggregator.telling", "deniable_aggregator.serving"),
    "paths": ("deniable_aggregator.web", "deniable_aggregator.telling", "deniable_aggregator.analysis"),
    "exports": ("deniable_aggregator.moving", "json.decoder"),
}
"""All targets, by the files that they are in, and whose code guides each: modules, and all below them."""
NAMES = tuple(WATCHED)
FOUND = Path(__file__).parent / "found"


@dataclass(frozen=True)
class Target:
    """A sort of input."""

    judge: Callable[[bytes], str]
    """What became of an input; an AssertionError where that is not right."""
    seeds: Callable[[], list[bytes]]
    """Sound inputs, made as the product itself makes them."""
    outcomes: frozenset[str]
    """What may become of an input: every run comes to some of them, whatever it tries."""
    words: tuple[bytes, ...] = ()
    """Pieces of inputs that chance would not find."""
    text: bool = False
    """Whether inputs are texts: chance changes signs of them, and whole lines."""
    longest: int = 4096
    """Bytes of an input."""
    otherwise: Callable[[Random, bytes], bytes] | None = None
    """An input of the same form that says something else, where bytes that are changed by chance have no form."""


def target(name: str) -> Target:
    """The target of that name. What it judges is loaded now: whoever watches code does so before."""
    found: Target = importlib.import_module(f"fuzzing.targets.{name}").TARGET
    return found


def found(name: str) -> list[bytes]:
    """The inputs of a target that were found: one a line, as Python writes bytes."""
    file = FOUND / f"{name}.txt"
    lines = file.read_text("ascii").splitlines() if file.exists() else []
    return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]
