"""A directory that somebody else has filled, and an application that is started in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deniable.wire.apart import Apart
from deniable.wire.credentials import Credentials
from support.endpoints import answering

PLANTED = ("json", "deniable", "grpc", "google", "site", "encodings", "sitecustomize", "usercustomize", "subprocess")


@pytest.mark.parametrize("also", [[], ["", "."]], ids=["a script", "an interactive parent"])
def test_a_process_of_its_own_runs_nothing_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also: list[str]
) -> None:
    """A forked child uploads from another interpreter: modules that lie about are not imported there."""
    marker = tmp_path / "executed"
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r})\nraise ImportError\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*also, *(place for place in sys.path if place)])
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with answering() as endpoint:
        outcome = Apart(endpoint.address, Credentials(), 10.0).send(b"a batch")
        assert not marker.exists()
        assert outcome is not None
        assert outcome.counted_as == "stored"
        assert endpoint.requests == [b"a batch"]
