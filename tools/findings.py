"""Shows every finding on the code of the day, and on the code as it is: `docs/attacks/findings.md`.

    python -m tools.findings [--before TREE] [--only NAME ...] [--write]

Each finding has a probe, a small program that both run (`probes_*.py`), and a test that
asserts what it shows, and more. TREE is a checkout of the code of that day with a `.venv` of its own:

    git worktree add /tmp/before d4b1441 && make -C /tmp/before .venv/.ready

The command fails where a probe finds the old code right, or the code as it is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tools.probes_device import Seen

from tools import probes_device, probes_newcomer, probes_served

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "attacks" / "findings.md"
PROBES = (probes_device, probes_served, probes_newcomer)
_PATIENCE = 600.0


class Finding(NamedTuple):
    """What somebody found."""

    what: str
    """In words."""
    probe: str
    """The program that shows it."""
    test: str
    """The test that asserts it, by file and name."""


FINDINGS = (
    Finding("A remembered answer is an identifier of its device", "remembered",
            "tests/attacks/test_linking.py::test_within_a_bit_nobody_is_followed"),
    Finding("Refused calls exhaust a worker's memory", "refused_calls",
            "tests/attacks/test_memory.py::test_nothing_of_a_refused_call_outlives_it"),
    Finding("`state=` destroys files that are not ours", "strange_file",
            "tests/attacks/test_state_files.py::test_what_is_not_ours_is_refused_and_left_byte_for_byte"),
    Finding("Windows of the same devices are too narrow", "windows",
            "tests/attacks/test_windows.py::test_a_month_of_the_same_devices_is_one_sample"),
    Finding("Intervals of event counts exclude their estimate", "counts",
            "tests/answers/test_open_intervals.py::test_one_device_of_a_hundred_does_not_move_the_interval_off_the_estimate"),
    Finding("A refusing server links epochs", "refusing",
            "tests/attacks/test_refusing_server.py::test_a_server_that_was_away_for_many_epochs"),
    Finding("A question of a few bytes stops ingest", "great_question",
            "tests/attacks/test_questions.py::test_a_message_of_a_few_bytes_buys_no_minutes_of_work"),
    Finding("Code of the working directory runs in a forked child's process", "planted",
            "tests/attacks/test_isolation.py::test_a_process_of_its_own_runs_nothing_of_the_working_directory"),
    Finding("A relative `state` is a ledger for each directory", "relative_path",
            "tests/attacks/test_state_files.py::test_a_relative_name_is_refused_with_the_next_step"),
    Finding("A budget is renewed by another name", "other_names",
            "tests/attacks/test_budgets.py::test_the_budget_of_a_lifetime_is_one_whatever_the_collection_is_called"),
    Finding("A memory is renewed by other words", "other_words",
            "tests/attacks/test_budgets.py::test_words_that_change_buy_no_further_answer"),
    Finding("A budget is renewed by damage", "damage",
            "tests/attacks/test_budgets.py::test_a_state_that_is_lost_is_no_new_budget"),
    Finding("One fake moves a mean by 41 ranges / n", "leverage",
            "tests/attacks/test_leverage.py::test_no_report_by_noise_reaches_forty_ranges"),
    Finding("Deltas are neither charged nor limited", "deltas",
            "tests/attacks/test_budgets.py::test_deltas_add_up_and_are_limited_like_epsilons"),
    Finding("Silent connections keep devices out", "silent_connections",
            "tests/attacks/test_connections.py::test_silent_connections_keep_no_device_out"),
    Finding("The first copy of a file that is damaged twice stays", "copy_of_damage",
            "tests/attacks/test_state_files.py::test_damage_twice_in_an_epoch_leaves_no_copy_behind"),
    Finding("`Host: [` and an epoch of 2^32 - 1 are server errors", "odd_requests",
            "tests/attacks/test_http.py::test_what_can_not_be_asked_is_a_bad_request"),
    Finding("`randomize` takes as long as its answer makes it", "timing",
            "tests/attacks/test_timing.py::test_what_comes_out_takes_no_other_instructions"),
    Finding("Event counts near 2^31 are encoded one off", "great_counts",
            "tests/attacks/test_values.py::test_counts_of_events_are_encoded_exactly"),
    Finding("A count's privacy unit is shown as its unit of measurement", "unit",
            "tests/web/test_units.py::test_json_and_csv_name_what_is_counted"),
    Finding("“A ordinal”; flags are said to add up to 100%", "words_of_the_page",
            "tests/system/page/test_metric.py::test_the_consistent_view_says_what_it_makes_true"),
    Finding("Rows are known by their place, and ranked across measures", "largest_row",
            "tests/system/test_structure.py::test_the_largest_rows_are_chosen_within_a_series"),
    Finding("A mechanism is named in many places", "lists_of_mechanisms",
            "tests/mechanisms/test_adding.py::test_the_walk_leads_to_a_mechanism_that_everything_has_judged"),
    Finding("Flat modules hide three layers", "flat_modules",
            "tests/tools/test_check_imports.py::test_every_rule_that_is_broken_is_found"),
    Finding("Ingest loads estimators", "loaded_for_ingest",
            "tests/ingest/test_loading.py::test_a_worker_loads_nothing_of_what_answers"),
    Finding("The person would have to install a server", "alone",
            "tests/client/person/test_person.py::test_it_needs_nothing_but_the_standard_library"),
    Finding("No CONTRIBUTING, changelog, glossary, licence; README's code is run by nobody", "papers",
            "tests/docs/test_readmes.py::test_every_block_of_a_readme_runs"),
    Finding("A test opens a store that is not there again yet", "late_store",
            "tests/system/test_exactly_once.py::test_replies_may_be_lost"),
    Finding("Installing is said nowhere", "installing",
            "tests/system/test_first_hour.py::test_an_empty_environment_comes_to_an_answer"),
    Finding("“I record, and nothing happens”", "mistakes",
            "tests/system/test_mistakes.py::test_what_a_client_is_given"),
    Finding("A mended spelling makes answers vanish", "changed",
            "tests/system/test_versions.py::test_a_mended_spelling_cuts_nothing_whatever_the_file_is_called"),
    Finding("There is no reference of the collection file", "reference",
            "tests/docs/test_collection_file.py::test_a_kind_has_the_keys_that_the_page_says"),
    Finding("`check` does not say what will be learned", "expected",
            "tests/planning/test_noise.py::test_an_epsilon_that_is_white_noise_is_said_without_a_fleet"),
    Finding("One report is told as a number that can not be", "one_report",
            "tests/web/test_few.py::test_the_terminal_and_python_say_the_same_and_raw_numbers_on_request"),
    Finding("No dates, no counters, no retention; `check` cut by `head` ends in “Broken pipe”", "reading",
            "tests/web/test_dates.py::test_a_window_is_the_same_however_it_is_said"),
    Finding("The writing says why before how, and not what it is; its table shows no miss", "writing",
            "tests/docs/test_writing.py::test_what_is_done_comes_before_why"),
)  # fmt: skip

_HEAD = """\
## Every finding, on the code of that day and on this

Each probe is one small program that runs on both (`tools/probes_*.py`); the test named beside it asserts what the
probe shows, and more. `python -m tools.findings --before TREE --write` runs them again and writes this table; it
fails where a probe finds the old code right or this one wrong.

| found | on the code of that day | now | asserted by |
|---|---|---|---|
"""
_FOOT = """\

What has no probe, since it was the lack of something: rows that are known by position (a toy kind whose rows depend
on the data goes all the way in `tests/system/test_structure.py`), a metric that sees only its own value
(`tests/client/device/test_fed.py`), a collection that is one text (`tests/system/test_bundles.py`), words with
several meanings (`tests/docs/test_glossary.py`), and docstrings that name no subject
(`tests/docs/test_docstrings.py`).

The test of chaos expected so many acknowledgements of five seconds (`acknowledged > DEVICES`); at a load of 15 that
old test did not end within its 120 s. It waits for devices to come far now, however long that takes
(`tests/system/test_chaos.py`).
"""


class Told(NamedTuple):
    """What a probe has told."""

    figure: str
    holds: bool


def probe_of(name: str) -> Callable[[Path], Seen]:
    """The program of this name."""
    found: Callable[[Path], Seen] = next(getattr(room, name) for room in PROBES if hasattr(room, name))
    return found


def run(probe: str) -> None:
    """Run a probe in a directory of its own, and say what it has seen."""
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(probe_of(probe)(Path(name).resolve())), flush=True)
        os.chdir(ROOT)
    os._exit(0)  # whatever a client of another day still waits for


def told(tree: Path, probe: str) -> Told:
    """What a probe tells of the code of a tree."""
    command: list[str | Path] = [tree / ".venv" / "bin" / "python", "-m", "tools.findings", "--run", probe]
    from deniable.device.consent import CI  # not for a probe, which may run on a day before it

    counted = os.environ | dict.fromkeys(CI, "")  # clients do not record on a machine of continuous integration
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=_PATIENCE, check=False, env=counted
    )
    if ended.returncode:
        raise RuntimeError(f"{probe} on {tree}: {ended.stderr}")
    return Told(*json.loads(ended.stdout.splitlines()[-1]))


def main() -> int:
    """Show them."""
    parser = argparse.ArgumentParser(description="Every finding, on the code of that day and on this.")
    parser.add_argument("--before", type=Path, help="a checkout of the code of that day, with its .venv")
    parser.add_argument("--only", nargs="*", help="names of probes")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run)
    lines, wrong = _written(), 0
    for finding in FINDINGS:
        if options.only and finding.probe not in options.only:
            continue
        now = told(ROOT, finding.probe)
        before = told(options.before.resolve(), finding.probe) if options.before else Told("", False)
        wrong += before.holds or not now.holds
        line = f"| {finding.what} | {before.figure} | {now.figure} | `{finding.test}` |"
        print(f"{'' if now.holds and not before.holds else 'WRONG: '}{line}", flush=True)
        if options.before:
            lines[finding.what] = line
    if options.write:
        rows = (lines[finding.what] for finding in FINDINGS if finding.what in lines)
        PAGE.write_text(_HEAD + "\n".join(rows) + "\n" + _FOOT, encoding="utf-8")
    return min(wrong, 1)


def _written() -> dict[str, str]:
    """The rows of the page, by what was found."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}


if __name__ == "__main__":
    sys.exit(main())
