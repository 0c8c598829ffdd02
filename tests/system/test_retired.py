"""A collection's last day: said in the served file, heard by devices with the file of before, shown as such."""

from __future__ import annotations

import json
import signal
import urllib.request
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from deniable import Client, Collection
from deniable_aggregator import Reader
from support.commands import told
from support.template import started
from support.waiting import PATIENCE, soon

TEXT = """\
[collection]
name = "bakery"
epoch = "1d"
owner = "someone@example.org"
[budget]
epoch = 1
[metrics.open]
kind = "boolean"
description = "The shop is open"
epsilon = 1
"""


def retired(day: date) -> str:
    """The file, from whose day on nothing is taken."""
    return TEXT.replace('epoch = "1d"', f'epoch = "1d"\nretired = {day}')


def flushed(endpoint: str, state: Path) -> tuple[bool, dict[str, int], int]:
    """What a device with the file of before has of a flush: whether all is stored, its counts, what waits."""
    with Client(Collection.loads(TEXT), endpoint=endpoint, state=state, consent="granted") as device:
        device.record("open", True)
        stored = device.flush(PATIENCE)
        return stored, dict(device.status().counts), device.status().waiting


def test_a_collection_is_retired_while_devices_have_the_file_of_before(tmp_path: Path) -> None:
    """Refused for good, and once; shown as such; what was counted stays; it can be taken back."""
    file, log, day = tmp_path / "bakery.toml", tmp_path / "log", datetime.now(UTC).date() - timedelta(days=1)
    file.write_text(TEXT)
    serve = ("serve", file, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with log.open("ab") as errors:
        program = started(*serve, stderr=errors.fileno())
    with program.stdout:
        try:
            endpoint = program.stdout.readline().rpartition(" on ")[2].strip()
            page = program.stdout.readline().rpartition(" ")[2].strip()

            def reports() -> int:
                with Reader(endpoint) as reader:
                    return int(next(iter(reader.estimates("open")))["reports"])

            def shown(path: str) -> str:
                with urllib.request.urlopen(page + path, timeout=PATIENCE) as response:
                    return str(response.read().decode())

            assert flushed(endpoint, tmp_path / "first.db") == (True, {"answered": 1, "stored": 1}, 0)
            for text, words in ((retired(day), f"is retired from {day} on"), (TEXT, "is not retired any more")):
                file.write_text(text)
                program.send_signal(signal.SIGHUP)
                soon(lambda words=words: words in log.read_text())  # type: ignore[misc]
                if text == TEXT:
                    break
                soon(lambda: flushed(endpoint, tmp_path / f"{len(list(tmp_path.iterdir()))}.db")[0] is False)
                assert flushed(endpoint, tmp_path / "second.db") == (False, {"answered": 1, "out of time": 1}, 0)
                assert reports() >= 1, "what was counted stays"
                (fleet,) = json.loads(shown("api/v1/health"))["fleets"]
                assert fleet["retired"] == str(day)
                families = {each.name: each for each in text_string_to_metric_families(shown("metrics"))}
                (sample,) = families["deniable_collection_retirement_timestamp_seconds"].samples
                assert (sample.labels, datetime.fromtimestamp(sample.value, UTC).date()) == (
                    {"collection": "bakery"},
                    day,
                )
                assert not families["deniable_metric_expiry_timestamp_seconds"].samples, "an end that is meant"
                assert f'"expires": "{day}"' in shown("api/v1/collections")
            before = reports()
            soon(lambda: flushed(endpoint, tmp_path / f"{len(list(tmp_path.iterdir()))}.db")[0])
            assert reports() > before
        finally:
            program.send_signal(signal.SIGTERM)
            assert program.wait(PATIENCE) == 0


def test_a_device_that_has_it_in_its_file_is_silent(tmp_path: Path) -> None:
    """It spends nothing, and says why."""
    day = datetime.now(UTC).date() - timedelta(days=1)
    with Client(
        Collection.loads(retired(day)), endpoint="127.0.0.1:9", state=tmp_path / "own.db", consent="granted"
    ) as device:
        device.record("open", True)
        assert device.flush(PATIENCE) is False
        assert device.status().unanswered == {"open": f"it expired on {day}"}
        assert list(device.ledger()) == []
        assert device.status().waiting == 0


def test_it_is_said_before_it_is_served(tmp_path: Path) -> None:
    """By check, and by what looks at an aggregator; a doctor finds nothing wrong with an end that is meant."""
    file, day = tmp_path / "bakery.toml", datetime.now(UTC).date() - timedelta(days=1)
    file.write_text(retired(day))
    assert f"Retired: from {day} on" in told("check", file).stdout
    serve = ("--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--http", "off")
    assert f"retired from {day} on" in told("serve", file, *serve, "--check").stdout
    assert "has ended" not in told("doctor", file, *serve).stdout
    file.write_text(TEXT + f"expires = {day}\n")
    assert "has ended" in told("doctor", file, *serve).stdout, "of one that is not meant it speaks"
