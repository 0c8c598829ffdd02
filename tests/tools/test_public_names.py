"""Public names are frozen: one that changes is written down, and told in the changelog."""

from __future__ import annotations

import json
import tomllib

from tools.public_names import FILE, found, unreleased, untold

import deniable
import deniable_aggregator
from support.commands import ROOT

AGAIN = "run `python -m tools.public_names`, and say in CHANGELOG.md, Unreleased, what has become of these names"


def test_every_public_name_is_as_it_was_written_down() -> None:
    """Names, signatures, fields and values of both distributions."""
    written, now = json.loads(FILE.read_text())["names"], found()
    changed = {name for name in {*written, *now} if written.get(name) != now.get(name)}
    assert not changed, f"{AGAIN}: {sorted(changed)}"


def test_what_has_changed_since_the_release_is_in_the_changelog() -> None:
    """Each by its name, between backticks."""
    missing = untold(json.loads(FILE.read_text())["before"])
    assert not missing, f"{AGAIN}: {missing}"


def test_a_changed_name_is_missed_in_the_changelog() -> None:
    """The test above would fail: shown with names that are not there, beside one that is."""
    assert untold({"deniable.Client.perform": "()", "deniable.state_path": "()"}) == ["Client.perform"]
    assert "state_path" in unreleased()


def test_what_is_written_down_is_what_people_use() -> None:
    """Classes with their constructors, methods, properties, fields and values; functions; nothing that is private."""
    names = found()
    assert names["deniable.Client.record"] == "(self, metric: str, value: Any) -> None"
    assert "state: str | Path | None = None" in names["deniable.Client()"]
    assert names["deniable.Settings.leeway"] == "float | None"
    assert names["deniable.Consent.WITHHELD"] == "'withheld'"
    assert names["deniable.Client.consent"] == "property -> Consent"
    assert names["deniable.Report.payload"] == "int"
    assert names["deniable_aggregator.estimate"].startswith("(metric: Metric, reports: Iterable[Report]")
    assert not [name for name in names if "._" in name]
    for package in (deniable, deniable_aggregator):
        assert {f"{package.__name__}.{name}" for name in package.__all__} <= names.keys()


def test_both_distributions_grant_the_same_licence() -> None:
    """One expression, one text, in each of them and for the whole."""
    texts = {(ROOT / place / "LICENSE").read_text() for place in ("", "client", "aggregator")}
    assert len(texts) == 1
    assert "https://www.apache.org/licenses/LICENSE-2.0" in texts.pop()
    for place in ("client", "aggregator"):
        project = tomllib.loads((ROOT / place / "pyproject.toml").read_text())["project"]
        assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
