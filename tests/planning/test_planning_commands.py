"""The commands `audit`, `check` and `simulate`, as people run them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deniable.kinds import Number
from deniable.mechanisms import RandomizedResponse, fitting
from deniable_aggregator import Reader
from deniable_aggregator.commands import main
from planning.everything import EVERYTHING, TEXT
from support.commands import EDITOR, deniable, serving, told
from support.waiting import PATIENCE

TRUTH = """
[dark_mode]
values = [true]
[crashed]
values = [true, false]
[session_minutes]
values = [10, 30]
[browser]
values = ["firefox", "safari"]
"""


def test_a_whole_collection_is_audited(tmp_path: Path) -> None:
    """Every claim of every kind has a row; nothing is disproved; progress is told."""
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT)
    audited = deniable("audit", path, "--reports", "2000", timeout=PATIENCE)
    assert audited.returncode == 0, audited.stderr
    rows = [line.split() for line in audited.stdout.splitlines() if line.endswith("holds")]
    claims = [(metric.name, "epsilon") for metric in EVERYTHING.metrics.values()]
    claims += [(m.name, "instantaneous_epsilon") for m in EVERYTHING.metrics.values() if m.instantaneous]
    assert sorted((row[0], row[1]) for row in rows) == sorted(claims)
    assert f"metrics audited: {len(EVERYTHING.metrics)} of {len(EVERYTHING.metrics)}" in audited.stderr


def test_a_device_that_tells_the_truth_is_disproved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the metric and the claim, and the exit code is 2."""
    monkeypatch.setattr(RandomizedResponse, "randomize", lambda _, value: value)
    assert main(["audit", str(EDITOR), "--metric", "dark_mode", "--reports", "1000"]) == 2
    shown = capsys.readouterr()
    assert re.search(r"dark_mode +epsilon +1 +[3-9]\.\d+ +broken", shown.out)
    assert shown.err.splitlines()[-1] == "deniable: 1 of 1 claims are disproved: dark_mode (epsilon)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("--metric", "dork_mode"), "did you mean 'dark_mode'?"), (("--reports", "0"), "must be at least 1")],
)
def test_what_can_not_be_audited_is_one_line_and_exit_code_2(arguments: tuple[str, ...], words: str) -> None:
    """A mistake ends in a line that tells the next step."""
    shown = told("audit", EDITOR, *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr.splitlines()[-1]


def test_check_says_what_else_could_ask() -> None:
    """For every metric that several mechanisms could ask, how much less certain the answer would be."""
    shown = told("check", EDITOR).stdout
    assert re.search(r"- browser: (.+, )?subset_selection 1 times, (.+, )?projective_geometry 1\.\d+ times", shown)
    assert re.search(r"- session_minutes: (.+, )?one_bit 1\.\d+ times, (.+, )?laplace \d\.\d+ times", shown)
    for name, every in (
        ("browser", fitting(5).keys() - {"randomized_response"}),
        ("session_minutes", {*Number.mechanisms} - {"hybrid"}),
    ):
        others = re.findall(r"(\w+) [\d.]+ times", shown.partition(f"- {name}: ")[2].partition("\n")[0])
        assert sorted(others) == sorted(every)
    assert "- dark_mode" not in shown


def test_check_says_how_certain_answers_will_be() -> None:
    """A line a row, with its unit, by the devices that are named; and how each metric is reduced."""
    shown = told("check", EDITOR, "--devices", "10000").stdout
    assert re.search(r"^session_minutes +number +hybrid +sum +1 ", shown, re.MULTILINE)
    assert re.search(r"^crashed +boolean +randomized_response +any +ln 3 ", shown, re.MULTILINE)
    assert "\nWhat 10,000 devices tell, whose values are spread evenly: half of a 95% interval.\n" in shown
    assert re.search(r"^dark_mode: yes +±2\.1\d points$", shown, re.MULTILINE)
    assert re.search(r"^browser: shares, each of 5 +±3\.\d\d points$", shown, re.MULTILINE)
    assert re.search(r"^session_minutes: mean +±9\.\d\d minutes$", shown, re.MULTILINE)
    assert re.search(r"^session_minutes: total +±9\d,\d{3} minutes$", shown, re.MULTILINE)
    assert "half of a 95% interval" not in told("check", EDITOR).stdout


def test_check_takes_a_truth(tmp_path: Path) -> None:
    """Where all devices have the same, a mean is told better than of values that are spread."""
    truth = tmp_path / "truth.toml"
    truth.write_text(TRUTH.replace("[10, 30]", "[240]"))
    lines = [
        next(
            line
            for line in told("check", EDITOR, "--devices", "100000", *more).stdout.splitlines()
            if "minutes: mean" in line
        )
        for more in ((), ("--truth", truth))
    ]
    evenly, alike = (float(re.findall(r"±([\d.]+) minutes", line)[0]) for line in lines)
    assert alike < 0.99 * evenly
    refused = told("check", EDITOR, "--truth", truth)
    assert (refused.returncode, refused.stderr) == (
        2, "deniable: --truth goes with --devices N: how many devices have it\n",
    )  # fmt: skip


def test_check_is_for_programs_and_for_gates(tmp_path: Path) -> None:
    """`--json` has all that is told; with `--strict` it ends with 1 where anything is unwise, and says the same."""
    told_all = told("check", EDITOR, "--devices", "1000", "--json")
    found = json.loads(told_all.stdout)
    assert {own["name"]: own["reduce"] for own in found["metrics"]} == {
        "browser": "last", "crashed": "any", "dark_mode": "last", "session_minutes": "sum",
    }  # fmt: skip
    assert {own["name"]: len(own["widths"]) for own in found["metrics"]} == {
        "browser": 5, "crashed": 1, "dark_mode": 1, "session_minutes": 3,
    }  # fmt: skip
    assert found["findings"] == [
        "no lifetime budget: a device that reports for years spends without end; consider [budget] lifetime"
    ]
    strict = told("check", EDITOR, "--devices", "1000", "--json", "--strict")
    assert (strict.returncode, strict.stdout, told_all.returncode) == (1, told_all.stdout, 0)
    wise = tmp_path / "metrics.toml"
    wise.write_text(EDITOR.read_text().replace("epoch = 6.0", "epoch = 6.0\nlifetime = 2000"))
    assert told("check", wise, "--strict").returncode == 0


@pytest.mark.parametrize("fast", ["--fast", "--no-fast"])
def test_a_fleet_reports_one_by_one_or_through_one_stream(tmp_path: Path, fast: str) -> None:
    """Either way every device is counted once."""
    truth = tmp_path / "truth.toml"
    truth.write_text(TRUTH)
    with serving(tmp_path / "data", EDITOR, "--simulated") as endpoint:
        arguments = ("--devices", "500", "--truth", truth, "--endpoint", endpoint)
        simulated = told("simulate", EDITOR, *arguments, fast)
        assert simulated.returncode == 0, simulated.stderr
        assert "500 of 500" in simulated.stderr
        table = told("estimates", "--endpoint", endpoint).stdout
        assert table.count("500") >= 8


def test_simulated_devices_are_kept_from_real_ones(tmp_path: Path) -> None:
    """Refused with the next step where a store is not for them, and nothing is counted; unless that is meant."""
    asked = ("simulate", EDITOR, "--devices", "5", "--endpoint")
    with serving(tmp_path / "real", EDITOR) as endpoint:
        refused = told(*asked, endpoint)
        assert refused.returncode == 2
        assert f"deniable serve {EDITOR} --simulated --data ./simulated" in refused.stderr.splitlines()[-1]
        with Reader(endpoint) as reader:
            assert {row["reports"] for row in reader.estimates()} == {0}
            assert not reader.collections()[0].simulated
            assert told(*asked, endpoint, "--among-real").returncode == 0
            assert {row["reports"] for row in reader.estimates()} == {5}


def test_a_store_that_serves_nothing_yet_is_not_taken_for_one_of_simulated_devices(tmp_path: Path) -> None:
    """Its collection may be served a moment later, and what was sent by then would be counted."""
    (tmp_path / "collections").mkdir()
    with serving(tmp_path / "real", tmp_path / "collections") as endpoint:
        refused = told("simulate", EDITOR, "--devices", "1", "--endpoint", endpoint)
        assert (refused.returncode, "is not for simulated devices" in refused.stderr) == (2, True)


def test_a_store_for_simulated_devices_stays_one(tmp_path: Path) -> None:
    """Also where it is served without saying so again: whoever reads its answers is told."""
    for flags in (("--simulated",), ()):
        with serving(tmp_path / "data", EDITOR, *flags) as endpoint, Reader(endpoint) as reader:
            assert reader.collections()[0].simulated
            assert told("simulate", EDITOR, "--devices", "5", "--endpoint", endpoint).returncode == 0


def test_without_a_truth_a_plausible_one_is_made_and_shown(tmp_path: Path) -> None:
    """As a truth file that can be edited and given again."""
    with serving(tmp_path / "data", EDITOR, "--simulated") as endpoint:
        made = told("simulate", EDITOR, "--devices", "5", "--endpoint", endpoint)
        assert "[dark_mode]\nvalues = [true, false]\nweights = [60, 30]\n" in made.stdout
        truth = tmp_path / "truth.toml"
        truth.write_text(made.stdout)
        again = told("simulate", EDITOR, "--devices", "5", "--truth", truth, "--endpoint", endpoint)
        assert (again.returncode, again.stdout) == (0, "")


def test_a_fleet_without_an_aggregator_says_so(tmp_path: Path) -> None:
    """One line and exit code 2."""
    truth = tmp_path / "truth.toml"
    truth.write_text(TRUTH)
    simulated = told("simulate", EDITOR, "--devices", "5", "--truth", truth, "--endpoint", "127.0.0.1:1")
    assert simulated.returncode == 2
    assert "is the aggregator running there?" in simulated.stderr.splitlines()[-1]
