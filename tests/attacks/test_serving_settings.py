"""Settings that are written wrongly: what is said of them is read by more people than their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.commands import _parser, main
from deniable_aggregator.commands._command import UsageError
from support.aggregator_store import place
from support.commands import EDITOR


@pytest.mark.parametrize(
    "text",
    [
        'redis = ["redis://:{}@127.0.0.1:1"]',
        'redis.url = "redis://:{}@127.0.0.1:1"',
        'redis = "redis://own:{}#x@127.0.0.1:1"',
        'redis = "redis://own:{}/x@127.0.0.1:1"',
        'redis = "redis://:{}[@127.0.0.1:1"',
        'redis = "redis+cluster://:{}/x@127.0.0.1:1"',
        'redis = "redis+sentinel://own:{}?x@127.0.0.1:1/it"',
        'redis = "redis://127.0.0.1:1?db={}"',
        'redis = "redis://own:x?{}@127.0.0.1:1"',
        'redis = "redis://127.0.0.1:1?{}=1"',
        'redis = "redis://:{}@127.0.0.1:1"',
    ],
)
def test_no_error_has_a_password(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """However it is written wrongly: an error of one line, which is copied into tickets, is told, and no stack."""
    file = tmp_path / "serve.toml"
    file.write_text(text.format("hunter2"))
    assert main(["serve", str(EDITOR), "--config", str(file), "--check"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("deniable: ")
    assert "hunter2" not in said.out + said.err


def test_what_would_be_done_is_said_without_a_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever an address has it: also among its options."""
    with place(tmp_path) as here:
        assert main(["serve", str(EDITOR), "--redis", f"{here.url}?client_name=hunter2", "--check"]) == 0
    said = capsys.readouterr().out
    assert "which is reached" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("text", ["listen = " + "[" * 100_000, "workers = " + "1" * 10_000])
def test_a_file_that_is_too_much_is_refused(tmp_path: Path, text: str) -> None:
    """Brackets and digits by the thousand."""
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"serve\.toml: is no TOML: "):
        _parser().parse_args(["serve", "--config", str(file)])
