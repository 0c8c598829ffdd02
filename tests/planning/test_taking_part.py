"""What a collection that asks a part of its devices is told before it ships, and what comes out of its fleets."""

from __future__ import annotations

import json
import math
import re
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable import Client, Collection, Settings
from deniable_aggregator import Reader, demo
from deniable_aggregator.answers import answer
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.population import Population, evenly, taking_part
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.widths import widths
from support.collection_files import head, metric
from support.commands import serving, told
from support.waiting import PATIENCE

TOGETHER = metric("both", "joint", of=["dark", "shade"])
ASKED = (
    metric("dark", "boolean")
    + metric("files", "count", max=20)
    + metric("minutes", "number", range=[0, 480], mechanism="one_bit")
    + TOGETHER
    + metric("shade", "boolean")
)
PART = head("part", 5, sample=0.25, lifetime=500) + ASKED
EVERY = head("part", 5, version=1, lifetime=500) + ASKED
ALONE = [text.replace(TOGETHER, metric("both", "boolean")) for text in (PART, EVERY)]
"""The same without what is answered together, whose widths are simulated."""
FAR = 5.0
"""Standard deviations that a count may be off: less than once in a million times."""


def written(directory: Path, text: str = PART) -> Path:
    """A collection's file."""
    path = directory / f"{len(list(directory.iterdir()))}.toml"
    path.write_text(text)
    return path


def test_a_part_of_a_simulated_fleet_takes_part() -> None:
    """By coins of the collection's threshold; a device takes part with all that it has."""
    devices, asked = 20_000, Collection.loads(PART)
    fleet = {name: Population(list(range(devices)), np.arange(devices)) for name in ("dark", "files")}
    own = {name: list(values) for name, values in taking_part(asked, fleet, np.random.default_rng(4)).items()}
    assert own["dark"] == own["files"]
    assert abs(len(own["dark"]) - devices / 4) < FAR * math.sqrt(devices * 3 / 16)
    assert taking_part(Collection.loads(EVERY), fleet, np.random.default_rng(4)) == fleet


def test_check_says_what_a_part_of_the_devices_tells(tmp_path: Path) -> None:
    """Widths of the devices that have an answer, of which a part reports; what a fake one is worth, which tosses no
    coin; for how long a budget lasts; and that it is no privacy."""
    part, every = (told("check", written(tmp_path, text), "--devices", "40000") for text in ALONE)
    assert "A device takes part in 0.25 of all epochs, by a coin of its own; a fake one in all." in part.stdout
    assert "none of them tells less: whoever sees reports sees who is silent" in part.stdout
    assert "What 40,000 devices tell (about 10,000 report)" in part.stdout
    fewer = told("check", written(tmp_path, ALONE[1]), "--devices", "10000")
    shares = [re.search(r"dark: yes +±([0-9.]+)", each.stdout) for each in (part, fewer, every)]
    half, same, narrow = (float(found[1]) for found in shares if found)
    assert half == same > 1.9 * narrow
    plain = json.loads(told("check", written(tmp_path), "--json").stdout)
    assert plain["sample"] == 0.25
    assert "100 epochs of answers (400 days, as often as its coins draw a device)" in part.stdout
    asked, all_asked = Collection.loads(PART).metrics["dark"], Collection.loads(EVERY).metrics["dark"]
    assert gain(asked).row == pytest.approx(4 * gain(all_asked).row)


def test_a_plan_of_a_part_is_that_of_as_many_devices_as_report(tmp_path: Path) -> None:
    """Widths, changes that are seen, bytes, processors; but it takes four times as many devices, as does a fake."""
    part, fewer = (
        json.loads(told("plan", written(tmp_path, text), "dark", "--devices", devices, "--json").stdout)
        for text, devices in ((PART, "40000"), (EVERY, "10000"))
    )
    (one,), (other,) = part["metrics"], fewer["metrics"]
    assert one["rows"][0]["half_width"] == other["rows"][0]["half_width"]
    assert one["rows"][0]["seen"]["change"] == pytest.approx(other["rows"][0]["seen"]["change"], rel=0.02)
    assert one["devices"]["least"] == 4 * other["devices"]["least"]
    assert one["one_fake"] == pytest.approx(4 * other["one_fake"])
    for same in ("fleet_bytes", "ids", "processors"):
        assert part["load"][same] == pytest.approx(fewer["load"][same])
    assert part["load"]["calls"] == 0.25


@pytest.mark.parametrize("name", ["files", "minutes"])
def test_the_widths_of_totals_are_those_that_come_out(name: str) -> None:
    """Predicted within 5% of what fleets of as many devices have, coins included."""
    asked, generator, devices = Collection.loads(PART), np.random.default_rng(5), 8000
    own = asked.metrics[name]
    halves = []
    for _ in range(40):
        fleet = taking_part(asked, {name: evenly(own)(devices, generator)}, generator)[name]
        row = answer(own, simulate(own, fleet, generator)).rows[1]
        halves.append((row.high - row.low) / 2)
    (told_before,) = [each.half for each in widths(own, devices) if each.where.key == "total"]
    assert told_before == pytest.approx(np.mean(halves), rel=0.05)


def test_explain_claims_no_privacy_for_a_coin(tmp_path: Path) -> None:
    """One report tells as much as if all devices sent one; what secrecy would be worth is said to be not the case."""
    texts = PART, EVERY
    part, every = (told("explain", written(tmp_path, own), "dark", "--devices", "1000").stdout for own in texts)
    assert "A device takes part in 0.25 of all epochs, by a coin of its own. That is no privacy:" in part
    assert re.search(r"a part of 0.25 of all devices, if silence did not show +0.3574", part)
    assert re.search(r"the same year, as often as it is drawn +92", part)
    reports = [re.findall(r"^(?:after|one report).*", each, re.MULTILINE) for each in (part, every)]
    assert [line.split() for line in reports[0]] == [line.split() for line in reports[1]]


def test_the_demo_can_ask_a_part_of_its_devices() -> None:
    """Of the same fleet; a part that is none is refused in one line."""
    refused = told("demo", "--once", "--sample", "2")
    assert refused.returncode == 2
    assert "collection.sample: must lie between 0.000001 and 1, not at 2" in refused.stderr
    (part, _), (every, _) = demo._loaded("0.5"), demo._loaded(None)
    assert (part.sample, every.sample) == (Fraction(1, 2), Fraction(1))
    assert part.metrics.keys() == every.metrics.keys()


def test_another_part_cuts_what_went_on(tmp_path: Path) -> None:
    """Told by the key of the file; what is remembered is not paid for again."""
    memory = metric("kept", "boolean", memoize=True)
    old = written(tmp_path, head("part", 6, sample=0.25, lifetime=500) + ASKED + memory)
    new = written(tmp_path, head("part", 6, version=1, sample=0.5, lifetime=500) + ASKED + memory)
    found = told("diff", old, new)
    assert found.returncode == 1
    assert "! dark: means something else (sample): its answers begin anew" in found.stdout
    assert "remember it anew" not in found.stdout


def test_a_fleet_of_which_a_part_reports_is_told_whole(tmp_path: Path) -> None:
    """Through a real aggregator: how many devices have an answer, and totals of all of them; means as they are. Where
    just those are meant that reported, these."""
    file, truth = written(tmp_path), tmp_path / "truth"
    truth.write_text(
        "[dark]\nvalues = [true, false]\n[shade]\nvalues = [true, false]\n"
        "[files]\nvalues = [10]\n[minutes]\nvalues = [240]\n"
    )
    devices = 4000
    with serving(tmp_path / "data", file, "--simulated") as endpoint:
        simulated = told("simulate", file, "--devices", str(devices), "--truth", truth, "--endpoint", endpoint)
        found = re.search(r"([\d,]+) of 4,000 devices are drawn by their coins", simulated.stderr)
        assert found
        drawn = int(found[1].replace(",", ""))
        assert abs(drawn - devices / 4) < FAR * math.sqrt(devices * 3 / 16)
        with Reader(endpoint) as reader:
            assert reader.collections()[0].sample == 0.25
            rows = {row["series"]: row for row in reader.estimates("files")}
            alone = {row["series"]: row for row in reader.estimates("files", target="reporting")}
    assert {row["reports"] for row in rows.values()} == {drawn}
    total, mean = rows["total"], rows["mean"]
    assert total["devices"] == 4 * drawn
    assert total["devices_low"] < total["devices"] < total["devices_high"]
    assert total["value"] == pytest.approx(mean["value"] * 4 * drawn)
    spread = (total["high"] - total["low"]) / 2 / 1.96
    assert abs(total["value"] - 10 * devices) < FAR * spread
    assert alone["total"]["devices"] is None
    assert alone["total"]["value"] == pytest.approx(alone["mean"]["value"] * drawn)


def test_devices_of_the_sdk_report_as_their_coins_say(tmp_path: Path) -> None:
    """Some clients on files of their own: who is drawn has stored and paid for it, who is not has done neither; and
    the aggregator tells about as many devices as there are."""
    half = head("half", 3, sample=0.5) + metric("dark", "boolean") + metric("minutes", "count", max=10)
    file, now = written(tmp_path, half), time.time()
    stored = 0
    with serving(tmp_path / "data", file) as endpoint:
        for number in range(24):
            with Client(
                Collection.loads(half), endpoint=endpoint, state=tmp_path / f"{number}.db", consent="granted",
                settings=Settings(clock=lambda: now, write_behind=0.01),
            ) as device:  # fmt: skip
                device.record("dark", True)
                device.record("minutes", 3)
                flushed = device.flush(PATIENCE)
                assert len(device.ledger()) == 2 * flushed
                assert flushed == (not [why for why in device.status().unanswered.values() if "not drawn" in why])
                stored += flushed
        with Reader(endpoint) as reader:
            (row,) = reader.estimates("dark")
    assert row["reports"] == stored
    assert 0 < stored < 24, "which coins miss once in 16 million times, on either side"
    assert row["devices"] == 2 * stored
