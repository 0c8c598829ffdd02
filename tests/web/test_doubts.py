"""Epochs that an operator does not trust: said, shown, left out of answers, removed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.serving.naming import Naming
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import CounterKey, Named
from support.commands import told
from support.editor import DARK, HEAD
from support.site import Running, running
from support.stored import stored_in
from support.waiting import soon
from web.test_api import ask

TODAY = 20_000
"""The 4th of October 2024."""
FILE = f"{HEAD}{DARK}"
COLLECTION = Collection.loads(FILE)
OTHER = Collection.loads(FILE.replace('"editor"', '"viewer"'))


@pytest.fixture
def aggregator() -> Iterator[Running]:
    """Seven days of reports, of which one is far too many; and the same of another collection."""
    with running(COLLECTION, OTHER) as started:
        for ago in range(7):
            counters = {"dark": [500, 500] if ago != 2 else [24_000, 66_000]}
            started.put(COLLECTION, TODAY - ago, counters, batches=10)
        started.put(OTHER, TODAY - 2, {"dark": [500, 500]}, batches=10)
        yield started


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The collection's."""
    path = tmp_path / "metrics.toml"
    path.write_text(FILE)
    return path


def doubt(aggregator: Running, file: Path, *arguments: str) -> Any:
    """Run the command beside the aggregator."""
    return told("doubt", file, *arguments, "--data", aggregator._directory / "data")


WEEK: dict[str, Any] = {"collection": "editor", "last": "7d", "last_epoch": TODAY}


def test_a_doubtful_epoch_is_left_out_unless_it_is_asked_for(aggregator: Running, file: Path) -> None:
    """Of windows, epochs, comparisons and counters, and each says so; what was remembered is not told again."""
    with Reader(aggregator.endpoint) as reader:
        (before,) = reader.estimates("dark", **WEEK)
        assert (before["reports"], before["note"]) == (96_000, "")
        doubted = doubt(aggregator, file, "2024-10-02", "--reason", "somebody made devices up")
        assert doubted.stdout == "editor  2024-10-02  doubtful: somebody made devices up\n", doubted.stderr
        (row,) = reader.estimates("dark", **WEEK)
        assert (row["reports"], row["note"]) == (
            6_000,
            "2024-10-02 is doubtful and left out: somebody made devices up",
        )
        assert row["value"] == pytest.approx(0.5, abs=1e-9)
        (whole,) = reader.estimates("dark", doubtful=True, **WEEK)
        assert (whole["value"], whole["note"]) == (
            before["value"],
            "2024-10-02 is doubtful: somebody made devices up",
        )
        assert len(reader.epochs("dark", **WEEK)) == 6
        assert len(reader.epochs("dark", doubtful=True, **WEEK)) == 7
        assert [own["count"] for own in reader.counters("dark", **WEEK)] == [3000, 3000]
        assert "left out" in reader.counters("dark", **WEEK)[0]["note"]
        weights = {"platform": {"linux": 1.0}}
        assert "left out" in reader.estimates("dark", weights=weights, **WEEK)[0]["note"]
        (change,) = reader.compare("dark", collection="editor", last_epoch=TODAY, last=2, before={"last": 2})
        assert (change["before_reports"], "2024-10-02 is doubtful" in change["note"]) == (1000, True)
        (elsewhere,) = reader.estimates("dark", collection="viewer", last_epoch=TODAY - 2)
        assert (elsewhere["reports"], elsewhere["note"]) == (1000, "")
        doubt(aggregator, file, "2024-10-02", "--withdraw")
        assert reader.estimates("dark", **WEEK)[0] == before


def test_api_and_terminal_say_which_epoch_is_doubtful(aggregator: Running, file: Path) -> None:
    """With the operator's reason; and an answer that somebody has is another one from then on."""
    url = f"{aggregator.url}/api/v1/collections/editor/overview?last=7&last_epoch={TODAY}"
    first, whole = ask(url), ask(f"{url}&doubtful=true")
    doubt(aggregator, file, "2024-10-01", "--to", "2024-10-02", "--reason", "restored")
    again = ask(url, If_None_Match=first.headers["ETag"])
    assert again.status == 200
    same = ask(f"{url}&doubtful=true", If_None_Match=whole.headers["ETag"])
    assert same.status == 200, "its numbers are what they were, and it says more"
    assert [own["leftOut"] for own in same.json["estimates"][0]["doubts"]] == [False, False]
    (estimate,) = again.json["estimates"]
    assert [(own["text"], own["reason"], own["leftOut"]) for own in estimate["doubts"]] == [
        ("2024-10-01", "restored", True),
        ("2024-10-02", "restored", True),
    ]
    assert len(again.json["trends"][0]["epochs"]) == 5
    assert same.json["estimates"][0]["reports"] == "96000"
    compared = f"{aggregator.url}/api/v1/collections/editor/comparisons?last=2&last_epoch={TODAY}"
    (comparison,) = ask(compared).json["comparisons"]
    assert [own["text"] for own in comparison["before"]["doubts"]] == ["2024-10-01", "2024-10-02"]
    assert comparison["after"]["doubts"] == []
    asked = ("--endpoint", aggregator.endpoint, "--collection", "editor", "--last", "7", "--last-epoch", str(TODAY))
    assert "dark: 2024-10-01 is doubtful and left out: restored; 2024-10-02 is" in told("estimates", *asked).stdout
    shown = json.loads(told("estimates", *asked, "--doubtful", "--format", "json").stdout)
    assert shown[0]["reports"] == 96_000


def test_a_doubtful_epoch_is_not_the_newest(aggregator: Running, file: Path) -> None:
    """A window that says no end does not end with it."""
    with Reader(aggregator.endpoint) as reader:
        newest = COLLECTION.epoch_at(time.time()) - 1
        for epoch in (newest, newest - 1):
            aggregator.put(COLLECTION, epoch, {"dark": [50, 50]}, batches=9)
        (before,) = reader.estimates("dark", collection="editor")
        doubt(aggregator, file, f"{before['start']:%Y-%m-%d}", "--reason", "x")
        (row,) = reader.estimates("dark", collection="editor")
    assert (row["end"], row["reports"], row["note"]) == (before["start"], 100, "")


def test_what_is_removed_is_gone_and_stays_so(aggregator: Running, file: Path) -> None:
    """Its counters are erased; whatever comes later is not answered, also where doubtful epochs are asked for."""
    key = CounterKey(COLLECTION.digest, 0, TODAY - 2, 0)
    assert aggregator.wait_for(aggregator.server.store.read([key]))[0] is not None
    refused = doubt(aggregator, file, "2024-10-02", "--remove")
    assert (refused.returncode, "doubt it first" in refused.stderr) == (2, True)
    doubt(aggregator, file, "2024-10-02", "--reason", "fakes")
    removed = doubt(aggregator, file, "2024-10-02", "--remove")
    assert removed.stdout.splitlines() == ["1 keys of counters are erased", "editor  2024-10-02  removed: fakes"]
    assert aggregator.wait_for(aggregator.server.store.read([key])) == [None]
    kept = CounterKey(COLLECTION.digest, 0, TODAY - 1, 0)
    assert aggregator.wait_for(aggregator.server.store.read([kept]))[0] is not None
    aggregator.put(COLLECTION, TODAY - 2, {"dark": [0, 5]}, batches=1)
    with Reader(aggregator.endpoint) as reader:
        (row,) = reader.estimates("dark", doubtful=True, **WEEK)
    assert (row["reports"], row["note"]) == (6_000, "2024-10-02 was removed: fakes")
    back = doubt(aggregator, file, "2024-10-02", "--withdraw")
    assert (back.returncode, "there is nothing to trust again" in back.stderr) == (2, True)
    assert doubt(aggregator, file, "2024-10-02", "--reason", "other").returncode == 2
    assert doubt(aggregator, file).stdout == "editor  2024-10-02  removed: fakes\n"


def test_what_is_removed_is_gone_in_versions_whose_files_are_gone(aggregator: Running, file: Path) -> None:
    """The store knows whose counters it has, from those who served them; of what it does not know it removes nothing,
    and says what that is. Other collections keep theirs."""
    older = Collection.loads(FILE.replace("The dark", "A dark").replace("[budget]", "[budget]\nlifetime = 9.0"))
    assert older.digest != COLLECTION.digest
    epoch, here = TODAY - 2, aggregator.server.store
    keys = [CounterKey(own.digest, 0, epoch, 0) for own in (COLLECTION, older, OTHER)]
    aggregator.put(older, epoch, {"dark": [7, 7]})
    doubt(aggregator, file, "2024-10-02", "--reason", "fakes")
    refused = doubt(aggregator, file, "2024-10-02", "--remove")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert f"nothing is removed: these epochs have counters of {older.digest:016x}, and which" in refused.stderr
    assert doubt(aggregator, file).stdout == "editor  2024-10-02  doubtful: fakes\n"
    assert all(counted is not None for counted in aggregator.wait_for(here.read(keys)))
    served = [*aggregator.server.layouts, layout_of(older)]
    aggregator.wait_for(Naming(warns=False).tell(here, served))
    assert doubt(aggregator, file, "2024-10-02", "--remove").stdout.startswith("2 keys of counters are erased")
    gone, also, kept = aggregator.wait_for(here.read(keys))
    assert (gone, also) == (None, None)
    assert kept is not None


def test_a_store_is_told_what_is_served_from_now_on(aggregator: Running) -> None:
    """After a reload, too, within the second."""
    later = Collection.loads(FILE.replace("The dark", "A dark"))
    here = aggregator.server.store
    assert aggregator.wait_for(here.known.all()).keys() == {COLLECTION.digest, OTHER.digest}
    aggregator.server.reload([layout_of(later)])
    soon(lambda: later.digest in aggregator.wait_for(here.known.all()), "the store has been told")
    assert aggregator.wait_for(here.known.all())[OTHER.digest] == Named("viewer", 86_400)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("2024-10-02",), "say why it is doubted, by --reason TEXT"),
        (("--reason", "x"), "say which epoch: a day such as 2026-11-12"),
        (("02.10.2024", "--reason", "x"), "DAY: takes a day such as 2026-11-19, today or yesterday"),
        (("2024-10-02", "--reason", ""), "say why it is doubted"),
        (("2024-10-02", "--reason", "a\nb"), "a reason is one line of 1 to 300 characters"),
        (("2024-10-02", "--reason", "x" * 301), "a reason is one line of 1 to 300 characters"),
        (("2001-10-02", "--to", "2024-10-02", "--reason", "x"), "4000 epochs are doubted at most"),
        (("2024-10-02", "--withdraw"), "2024-10-02 is not doubted"),
        (("2024-10-02", "--to", "2024-10-01", "--reason", "x"), "the other way round"),
    ],
)
def test_what_can_not_be_marked_is_said(
    aggregator: Running, file: Path, arguments: tuple[str, ...], words: str
) -> None:
    """In one line, and nothing is doubted."""
    refused = doubt(aggregator, file, *arguments)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert words in refused.stderr
    assert doubt(aggregator, file).stdout == ""


def test_a_store_is_reached_while_nobody_runs_it(tmp_path: Path, file: Path) -> None:
    """Doubts last; a directory that is no aggregator's is refused, and none is made."""
    nowhere = told("doubt", file, "--data", tmp_path / "nowhere")
    assert (nowhere.returncode, "is no aggregator's" in nowhere.stderr) == (2, True)
    assert not (tmp_path / "nowhere").exists()

    async def begin() -> None:
        async with stored_in(tmp_path / "data"):
            pass

    asyncio.run(begin())
    for _ in range(2):
        doubted = told("doubt", file, "yesterday", "--reason", "it was restored", "--data", tmp_path / "data")
        assert doubted.stdout.endswith("doubtful: it was restored\n"), doubted.stderr
    hourly = tmp_path / "hourly.toml"
    hourly.write_text(FILE.replace('"1d"', '"1h"'))
    shown = told("doubt", hourly, "2024-10-02", "--reason", "a day", "--data", tmp_path / "data").stdout.splitlines()
    assert (len(shown), shown[0], shown[-1]) == (
        24, "editor  2024-10-02T00:00  doubtful: a day", "editor  2024-10-02T23:00  doubtful: a day",
    )  # fmt: skip
