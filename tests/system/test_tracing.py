"""Spans and figures for an OpenTelemetry collector: what is told, to a real one; and that nothing depends on it.

That nothing of a device is told is attacked in tests/attacks/test_tracing.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from deniable_aggregator import Reader
from deniable_aggregator.telling.remote import RemoteError
from deniable_aggregator.web.otlp import LEAST_SECONDS, every
from support.aggregators import WORKER, started_by
from support.collector import collecting
from support.commands import COMMAND, EDITOR, told
from support.waiting import PATIENCE, soon


class Serving:
    """An aggregator with a page."""

    def __init__(self, room: Path, *flags: str) -> None:
        self.out, self.log, self.file = room / "out", room / "log", room / "editor.toml"
        self.file.write_text(EDITOR.read_text())
        where = ("--data", room / "data", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
        with self.out.open("wb") as out, self.log.open("wb") as log:
            self.program = subprocess.Popen([COMMAND, "serve", self.file, *where, *flags], stdout=out, stderr=log)
        soon(lambda: "the page is at" in self.out.read_text())
        first, second = self.out.read_text().splitlines()[:2]
        self.endpoint, self.page = first.rpartition(" ")[2], second.rpartition(" ")[2]

    def got(self, path: str, **headers: str) -> str:
        """What the page has at a path; nothing where it refuses."""
        asked = urllib.request.Request(self.page + path, headers={n.replace("_", "-"): v for n, v in headers.items()})
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError:
            return ""

    def ended(self) -> int:
        """How it ends when it is asked to."""
        self.program.send_signal(signal.SIGTERM)
        return self.program.wait(PATIENCE)


@contextlib.contextmanager
def serving(room: Path, *flags: str) -> Iterator[Serving]:
    """An aggregator, killed in the end."""
    own = Serving(room, *flags)
    try:
        yield own
    finally:
        own.program.kill()
        own.program.wait(PATIENCE)


def test_a_collector_is_told_of_questions_pages_reloads_and_restarts(tmp_path: Path) -> None:
    """Each with what is about it, in names of what is served; a refusal is marked as one."""
    with collecting() as collector, serving(tmp_path, "--otlp", collector.endpoint) as own:
        with Reader(own.endpoint) as reader:
            reader.estimates("dark_mode")
            with pytest.raises(RemoteError, match="no metric"):
                reader.estimates("dark_moods")
        assert own.got("api/v1/collections/editor/overview")
        assert own.got("api/v1/collections/editor/overview", If_None_Match='"of-before"'), "which leaves no span"
        assert not own.got("api/v1/collections/else/overview")
        (worker,) = (pid for pid, name in started_by(own.program.pid).items() if name == WORKER)
        os.kill(worker, signal.SIGKILL)
        soon(lambda: "starting it again" in own.log.read_text())
        soon(lambda: WORKER in started_by(own.program.pid).values())
        for text, words in (("[collection", "stays as it is"), (EDITOR.read_text(), "nothing has changed")):
            own.file.write_text(text)
            own.program.send_signal(signal.SIGHUP)
            soon(lambda words=words: words in own.log.read_text())  # type: ignore[misc]
        soon(lambda: collector.named("start again"), "the restart")
        assert own.ended() == 0
    good, bad = collector.named("GetEstimate")
    assert (good.process, good.failed) == ("desk", False)
    assert good.said == {
        "deniable.collection": "editor", "deniable.metric": "dark_mode", "deniable.epochs": 1,
        "rpc.grpc.status_code": 0,
    }  # fmt: skip
    assert (bad.failed, bad.said) == (True, {"rpc.grpc.status_code": grpc.StatusCode.NOT_FOUND.value[0]})
    page, missing = collector.named("GET /api/v1/collections/{collection}/overview")
    assert (page.process, page.failed, page.said["deniable.collection"]) == ("supervisor", False, "editor")
    assert (missing.failed, missing.said) == (True, {"http.response.status_code": 404})
    (again,) = collector.named("start again")
    assert (again.said, again.failed) == ({"deniable.member": "worker 0"}, False)
    assert [each.failed for each in collector.named("reload")] == [True, False]
    assert all(each.alone for each in collector.spans()), "each is a trace of its own"
    assert all(time % 10_000_000 == 0 for each in collector.spans() for time in each.times), "hundredths of a second"


def test_figures_are_those_of_metrics(tmp_path: Path) -> None:
    """The same families, with the same numbers; once, when it ends, where it ends before the first are due."""
    with collecting() as collector, serving(tmp_path, "--otlp", collector.endpoint) as own:
        shown = [each for each in text_string_to_metric_families(own.got("metrics")) if "deniable" in each.name]
        assert own.ended() == 0
    (sent,) = collector.sendings()
    own_names = {f"{each.name}_info" if each.type == "info" else each.name for each in shown if each.samples}
    assert set(sent) == own_names
    refused = {
        p.attributes[0].value.string_value: p.as_double for p in sent["deniable_batches_refused"].sum.data_points
    }
    (family,) = (each for each in shown if each.name == "deniable_batches_refused")
    assert refused == {each.labels["reason"]: each.value for each in family.samples}
    assert sent["deniable_batches_refused"].sum.is_monotonic
    (epsilon,) = (each for each in shown if each.name == "deniable_metric_epsilon")
    points = sent["deniable_metric_epsilon"].gauge.data_points
    assert sorted(each.as_double for each in points) == sorted(each.value for each in epsilon.samples)
    (flushes,) = sent["deniable_flush_duration_seconds"].histogram.data_points
    (family,) = (each for each in shown if each.name == "deniable_flush_duration_seconds")
    upto = [each.value for each in family.samples if each.name.endswith("_bucket")]
    assert len(flushes.bucket_counts) == len(upto) == len(flushes.explicit_bounds) + 1
    assert flushes.count == sum(flushes.bucket_counts) == upto[-1]


@pytest.mark.parametrize(
    ("said", "seconds"), [(None, 60.0), ("90000", 90.0), ("1", LEAST_SECONDS), ("soon", 60.0), ("-5", LEAST_SECONDS)]
)
def test_figures_come_no_more_often_than_prometheus(said: str | None, seconds: float) -> None:
    """Whatever the environment says: that is how sharply a device's call can be seen in them."""
    assert every(said) == seconds


def test_nobody_waits_for_a_collector_that_is_away(tmp_path: Path) -> None:
    """Questions are answered, and it ends."""
    with serving(tmp_path, "--otlp", "http://127.0.0.1:9") as own:
        with Reader(own.endpoint) as reader:
            assert reader.estimates("dark_mode")
        assert own.got("metrics")
        assert own.ended() == 0
        assert "Traceback" not in own.log.read_text()


def test_without_it_nothing_is_loaded_that_sends() -> None:
    """Though it is installed. (The store's client looks for OpenTelemetry itself, and tells it nothing unasked.)"""
    asked = "import sys\nimport deniable_aggregator.commands.serve, deniable_aggregator.serving.worker\n"
    asked += "import deniable_aggregator.web, deniable_aggregator.serving.supervisor\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert "deniable_aggregator.tracing" in loaded
    assert not [each for each in loaded if each.startswith(("opentelemetry.exporter", "opentelemetry.proto"))]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:4317", "takes http://HOST:PORT"),
        ("http://127.0.0.1", "takes http://HOST:PORT"),
        ("http://127.0.0.1:4317/v1/traces", "takes http://HOST:PORT"),
        ("http://me:secret@127.0.0.1:4317", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("http://collector.example.org:4317", "in the clear: https://"),
    ],
)
def test_an_address_that_will_not_do_is_refused_with_the_next_step(url: str, words: str, tmp_path: Path) -> None:
    """Before anything is begun."""
    found = told("serve", EDITOR, "--data", tmp_path / "data", "--otlp", url, "--check")
    assert found.returncode == 2
    assert words in found.stderr
    assert not (tmp_path / "data").exists()


def test_who_has_not_installed_it_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name of the extra, also by the doctor; and with it, what would be sent."""
    given = (EDITOR, "--data", tmp_path / "data", "--otlp", "http://127.0.0.1:4317")
    asked = ("serve", *given, "--check")
    examined = ("doctor", *given, "--http", "off", "--listen", "127.0.0.1:0", "--json")
    assert "OpenTelemetry" in json.loads(told(*examined).stdout)["well"]
    assert "would send spans and figures to http://127.0.0.1:4317" in told(*asked).stdout
    for name in [each for each in sys.modules if each.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    elsewhere = [each for each in sys.path if not (Path(each) / "opentelemetry").is_dir()]
    monkeypatch.setattr(sys, "path", elsewhere)
    found = told(*asked)
    assert found.returncode == 2
    assert "pip install 'deniable-aggregator[tracing]' ('./aggregator[tracing]' in a clone)" in found.stderr
    (lacking,) = json.loads(told(*examined).stdout)["findings"]
    assert (lacking["check"], lacking["what"][:7]) == ("OpenTelemetry", "--otlp ")
    assert lacking["do"] in found.stderr
