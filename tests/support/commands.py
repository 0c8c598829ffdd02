"""Runs the `deniable` command as people do, in a process of its own, or where that adds nothing in this one."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from deniable_aggregator.commands import main
from support.template import started
from support.waiting import PATIENCE

__all__ = ["COMMAND", "EDITOR", "ROOT", "deniable", "serving", "serving_text", "told"]

ROOT = Path(__file__).resolve().parents[2]
EDITOR = ROOT / "examples" / "editor.toml"
COMMAND = Path(sys.executable).parent / "deniable"


def deniable(
    *arguments: str | Path, timeout: float = PATIENCE, most: tuple[int, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one subcommand to its end; `most` limits its files."""
    given = [str(argument) for argument in arguments]
    with tempfile.TemporaryFile("w+") as errors:
        program = started(*given, stderr=errors.fileno(), most=most)
        with program.stdout:
            written = program.stdout.read()
        code = program.wait(timeout)
        assert code is not None, "it does not end"
        errors.seek(0)
        return subprocess.CompletedProcess(given, code, written, errors.read())


def told(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The same in this process: loading a command takes longer than running it, and says the same every time."""
    given = [str(argument) for argument in arguments]
    out, errors = _written(), _written()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = main(given)
        except SystemExit as ended:  # as argparse does
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(given, code, _read(out), _read(errors))


def _written() -> io.TextIOWrapper:
    """What can be written to as to a terminal's file: texts, and bytes beside them."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(file: io.TextIOWrapper) -> str:
    file.seek(0)
    return file.read()


@contextlib.contextmanager
def serving(data: Path, *arguments: str | Path, log: Path | None = None, anew: bool = False) -> Iterator[str]:
    """An aggregator in a process of its own, on an embedded store; its endpoint. `anew`: it loads what it needs."""
    with log.open("ab") if log else contextlib.nullcontext() as errors:
        command = ("serve", "--data", data, "--listen", "127.0.0.1:0", "--http", "off", *arguments)
        program = started(*command, stderr=errors.fileno() if errors else None, anew=anew)
    with program.stdout:
        try:
            line = program.stdout.readline()
            assert " on " in line, f"not serving: {line!r}"
            yield line.rsplit(" on ", 1)[1].strip()
        finally:
            program.send_signal(signal.SIGTERM)
            assert program.wait(PATIENCE) is not None, "it does not end"


@contextlib.contextmanager
def serving_text(directory: Path, text: str) -> Iterator[str]:
    """The same, of one collection, with all that it keeps in a directory."""
    file = directory / "metrics.toml"
    file.write_text(text, encoding="utf-8")
    with serving(directory / "data", file) as address:
        yield address
