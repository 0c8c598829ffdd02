"""What applications test with: the client of `deniable.testing`, its fixture, and generated accessors."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from deniable import Accessor, Client, Collection, Consent, UnknownMetricError
from deniable.codegen import generate
from deniable.kinds import KINDS, Fed
from deniable.testing import TestClient
from deniable_aggregator import estimate
from support.commands import EDITOR, ROOT

COLLECTION = Collection.load(EDITOR)


def test_what_an_application_has_recorded_can_be_asked() -> None:
    """Reduced as the collection says, until the epoch ends; a metric of another name is a mistake."""
    with TestClient(COLLECTION) as client:
        assert client.recorded("session_minutes") is None
        client.record("session_minutes", 3.0)
        client.record("session_minutes", 4.5)
        client.record("dark_mode", True)
        client.record("dark_mode", False)
        assert client.recorded("session_minutes") == 7.5
        assert client.recorded("dark_mode") is False
        client.flush()
        assert client.recorded("session_minutes") is None
        with pytest.raises(UnknownMetricError, match="did you mean"):
            client.recorded("dark_mod")
        with pytest.raises(UnknownMetricError, match="did you mean"):
            client.record("dark_mod", True)


def test_reports_go_straight_into_an_estimate() -> None:
    """A thousand epochs of a device that is always dark are estimated like a thousand devices'."""
    with TestClient(COLLECTION) as client:
        for _ in range(1000):
            client.record("dark_mode", True)
            client.record("browser", "edge")
            assert client.flush()
        answer = estimate(COLLECTION.metrics["dark_mode"], client.reports("dark_mode"))
        assert answer.reports == 1000
        # Off by more than 0.25, which is 8 standard errors, less than once in 10^12 times.
        assert answer.rows[0].value == pytest.approx(1.0, abs=0.25)
        browsers = estimate(COLLECTION.metrics["browser"], client.reports("browser"))
        assert {row.key: row.value for row in browsers.rows}["edge"] > 0.5


def test_wide_reports_come_back_as_they_were() -> None:
    """What does not fit eight bytes is read from the batch all the same."""
    values = [f"v{number}" for number in range(100)]
    collection = Collection.loads(
        '[collection]\nname = "wide"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 20\n[metrics.m]\n'
        f'kind = "category"\ndescription = "d"\nepsilon = 16\nmechanism = "subset_selection"\nvalues = {values}'
    )
    with TestClient(collection) as client:
        client.record("m", "v99")
        client.flush()
        # At epsilon 16 the own answer is the one that is named but for once in 100,000 times.
        assert [report.payload for report in client.reports("m")] == [1 << 99]


def test_the_ledger_is_that_of_a_device() -> None:
    """Spending shows, and what is spent stays spent."""
    with TestClient(COLLECTION) as client:
        for _ in range(3):
            client.record("dark_mode", True)
            client.flush()
        assert [line.epsilon for line in client.ledger()] == [1.0] * 3
        assert client.status().counts == {"answered": 3}


def test_it_has_no_thread_and_asks_for_no_consent() -> None:
    """A test runs alone; consent is given unless the test is about that."""
    before = set(threading.enumerate())
    with TestClient(COLLECTION) as client, TestClient(COLLECTION, consent=Consent.WITHHELD) as silent:
        for each in (client, silent):
            each.record("dark_mode", True)
            each.flush()
        assert set(threading.enumerate()) <= before
        assert len(client.reports("dark_mode")) == 1
        assert silent.reports("dark_mode") == []


PLUGIN = """
pytest_plugins = ["deniable.pytest_plugin"]
"""
TEST = """
def test_application(deniable_client):
    client = deniable_client({path!r})
    client.record("dark_mode", True)
    assert client.recorded("dark_mode") is True
"""


def test_the_fixture_is_one_line_away(tmp_path: Path) -> None:
    """An application's conftest names the plugin, its tests take the fixture."""
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_application.py").write_text(TEST.format(path=str(EDITOR)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    # Others' plugins take longer to load than it takes to run, and options of this run are none of theirs.
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=alone)
    assert ran.returncode == 0, ran.stdout


def test_an_accessor_records_one_metric() -> None:
    """As `Client.record` does."""
    with TestClient(COLLECTION) as client:
        dark_mode: Accessor[bool] = Accessor(client, "dark_mode")
        dark_mode.record(True)
        assert client.recorded("dark_mode") is True


EVERYTHING = f"""
[collection]
name = "everything"
epoch = "1d"
owner = "o"
[budget]
epoch = 30
[metrics.import]
kind = "boolean"
description = 'said "yes" \\ or not'
epsilon = 1
[metrics.kept]
kind = "category"
description = "d"
epsilon = 1
values = ["plain", 'with "quotes"', "with 'others'", "ümläut", "back\\\\slash"]
[metrics.many]
kind = "category"
description = "d"
epsilon = 1
values = {[f"v{number}" for number in range(300)]}
[metrics.some]
kind = "flags"
description = "d"
epsilon = 1
flags = ["a", "b"]
[metrics.listed]
kind = "vector"
description = "d"
epsilon = 1
dimensions = 2
clip = 1
norm = "l1"
"""


def test_generated_accessors_record_what_they_are_named_after(tmp_path: Path) -> None:
    """The module runs as it is written, whatever names and values there are; a keyword gets an underscore."""
    collection = Collection.loads(EVERYTHING)
    module: dict[str, type] = {}
    source = generate(collection, "metrics.toml")
    exec(compile(source, "generated", "exec"), module)
    with TestClient(collection) as client:
        metrics = module["Metrics"](client)
        metrics.import_.record(True)
        metrics.kept.record('with "quotes"')
        metrics.some.record({"a"})
        assert client.recorded("import") is True
        assert client.recorded("kept") == 'with "quotes"'
        assert client.recorded("some") == ["a"]
    said = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert 'said "yes" \\ or not (boolean, epsilon 1)' in said
    assert {"with 'others'", "ümläut", "back\\slash"} <= said
    assert "v17" not in said, "of very many values the type is text"


CHECKED = """
from typing import Literal
from generated import Metrics
from deniable import Client
def use(client: Client, name: Literal["plain", "ümläut"]) -> None:
    metrics = Metrics(client)
    metrics.import_.record(True)
    metrics.kept.record(name)
    metrics.kept.record("plain")
    metrics.many.record("anything")
    metrics.some.record(["a"])
    metrics.some.record({"a", "b"})
    metrics.listed.record([1.0, 2.0])
"""
WRONG = {
    "metrics.imported.record(True)": 'has no attribute "imported"',
    "metrics.import_.record('yes')": "incompatible type",
    "metrics.kept.record('plane')": "incompatible type",
    "metrics.some.record('a')": "incompatible type",
    "metrics.listed.record(['one'])": "incompatible type",
    "client.record('import')": 'Missing positional argument "value"',
}


def test_a_type_checker_finds_what_is_wrong(tmp_path: Path) -> None:
    """mypy --strict takes a sample application as it is, and refuses each mistake in it."""
    (tmp_path / "generated.py").write_text(generate(Collection.loads(EVERYTHING), "metrics.toml"))
    (tmp_path / "right.py").write_text(CHECKED)
    for number, line in enumerate(WRONG):
        (tmp_path / f"wrong{number}.py").write_text(CHECKED + f"    {line}\n")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--warn-unreachable",
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        ".",
    ]
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(ROOT / "client"), "PATH": "/bin"}
    )
    errors = [line for line in ran.stdout.splitlines() if ": error:" in line]
    assert len(errors) == len(WRONG), ran.stdout + ran.stderr
    for number, words in enumerate(WRONG.values()):
        assert any(line.startswith(f"wrong{number}.py:") and words in line for line in errors), ran.stdout


def test_every_kind_has_a_type_of_its_own() -> None:
    """A new kind says what an application records; for one that is fed, nothing is."""
    for kind in KINDS.values():
        if issubclass(kind, Fed):
            continue
        assert "annotation" in {name for base in kind.__mro__[:-3] for name in vars(base)}, kind


def test_a_client_is_what_an_application_expects() -> None:
    """A test client goes wherever a client does."""
    with TestClient(COLLECTION) as client:
        assert isinstance(client, Client)
