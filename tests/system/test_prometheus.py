"""A real Prometheus scrapes an aggregator with two workers: counts are exact, every rule and panel has its data."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import urllib.request
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from deniable import Collection
from deniable.device.outbox import Batch
from deniable_aggregator import Reader
from deniable_aggregator.answers import headings
from deniable_aggregator.planning.fleet import reported
from deniable_aggregator.telling.digits import DECIMALS, decimals
from support.collection_files import head, metric
from support.commands import ROOT
from support.ports import free_port
from support.prometheus import DEPLOY, Served, promtool, query, rules, scraping, served
from support.submitting import submit
from support.waiting import PATIENCE, soon

TEXT = (
    head("editor", 14.0, platform=["linux", "macos", "windows"])
    + metric("browser", "category", "The default browser", values=[f"b{number}" for number in range(40)])
    + metric(
        "crashed", "boolean", "The editor crashed today", epsilon="ln 3", expires=date.today() + timedelta(days=5)
    )
    + metric(
        "load_time",
        "distribution",
        "How long a project took to open",
        range=[0, 1000],
        buckets=64,
        unit="ms",
        epsilon=6.0,
    )
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], unit="minutes")
)
COLLECTION = Collection.loads(TEXT)
REPORTS = 4


def batches(number: int) -> list[Batch]:
    """Of so many devices, that answer everything, in all segments."""
    import time

    epoch = COLLECTION.epoch_at(time.time())
    answers = (
        {
            "browser": f"b{each % 7}",
            "crashed": each % 50 == 0,
            "load_time": float(each * 7 % 1000),
            "minutes": float(each % 100),
        }
        for each in range(number)
    )
    return [reported(COLLECTION, own, epoch, each % 3) for each, own in enumerate(answers)]


class Watched(NamedTuple):
    """An aggregator and the Prometheus that watches it."""

    aggregator: Served
    prometheus: str


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For everything that is kept."""
    directory = tmp_path_factory.mktemp("prometheus")
    (directory / "metrics.toml").write_text(TEXT)
    return directory


@pytest.fixture(scope="module")
def watched(directory: Path) -> Iterator[Watched]:
    """Two workers to which 240 devices have reported, ten of them twice, and five that sent nonsense."""
    http = f"127.0.0.1:{free_port()}"
    with (
        served(directory / "data", http, directory / "metrics.toml", "--workers", "2") as aggregator,
        scraping(directory, [http]) as prometheus,
    ):
        soon(lambda: counted(prometheus, "deniable_batches_accepted_total") == 0, "it is scraped")
        good = [batch.request for batch in batches(240)]
        assert set(submit(aggregator.endpoint, good)) == {grpc.StatusCode.OK}
        assert set(submit(aggregator.endpoint, good[:10])) == {grpc.StatusCode.OK}
        assert set(submit(aggregator.endpoint, [b"\xff\xff"] * 5)) == {grpc.StatusCode.INVALID_ARGUMENT}
        soon(lambda: counted(prometheus, "deniable_batches_accepted_total") >= 240, "all is scraped")
        yield Watched(aggregator, prometheus)


def counted(address: str, expression: str) -> float:
    """A single number, or nothing."""
    found = query(address, expression)
    return found[0][1] if found else -1.0


def test_counts_are_exact_across_workers_and_their_deaths(watched: Watched) -> None:
    """What was submitted is what Prometheus has, to the batch, also after both workers were killed."""
    aggregator, prometheus = watched
    before = counted(prometheus, "deniable_batches_accepted_total")
    soon(lambda: counted(prometheus, "deniable_batches_accepted_total") == 240, "240 batches are counted")
    assert before <= 240
    assert counted(prometheus, "deniable_reports_accepted_total") == 240 * REPORTS
    assert counted(prometheus, "deniable_batches_duplicate_total") == 10
    assert counted(prometheus, 'deniable_batches_refused_total{reason="MALFORMED_BATCH"}') == 5
    assert counted(prometheus, 'deniable_batches_refused_total{reason="BUSY"}') == 0
    assert counted(prometheus, "deniable_flush_batches_sum") == 255 - 5
    assert counted(prometheus, 'deniable_flush_duration_seconds_bucket{le="+Inf"}') == counted(
        prometheus, "deniable_flush_batches_count"
    )
    killed = aggregator.workers()
    assert len(killed) == 2
    for worker in killed:
        os.kill(worker, signal.SIGKILL)
    soon(lambda: len(set(aggregator.workers()) - set(killed)) == 2, "both workers are started again")
    assert set(submit(aggregator.endpoint, [batch.request for batch in batches(60)])) == {grpc.StatusCode.OK}
    soon(lambda: counted(prometheus, "deniable_batches_accepted_total") == 300, "300 batches are counted")
    assert counted(prometheus, "deniable_batches_duplicate_total") == 10
    assert counted(prometheus, 'deniable_reports{metric="crashed"}') == 300


def test_estimates_are_those_of_the_api(watched: Watched) -> None:
    """Value and both ends of the interval, of every row that is told; of forty values the twenty largest."""
    aggregator, prometheus = watched
    with Reader(aggregator.endpoint) as reader:
        rows = reader.estimates()
    soon(lambda: counted(prometheus, 'deniable_reports{metric="crashed"}') == rows[0]["reports"], "all is scraped")
    told = {(labels["metric"], labels["key"]): value for labels, value in query(prometheus, "deniable_estimate")}
    low = {
        (labels["metric"], labels["key"]): value
        for labels, value in query(prometheus, "deniable_estimate_lower_bound")
    }
    high = {
        (labels["metric"], labels["key"]): value
        for labels, value in query(prometheus, "deniable_estimate_upper_bound")
    }
    shares = sorted((row["value"] for row in rows if row["metric"] == "browser"), reverse=True)
    assert sorted((value for (metric, _), value in told.items() if metric == "browser"), reverse=True) == shares[:20]
    for row in rows:
        name = row["metric"], row["key"]
        if name in told:
            assert (told[name], low[name], high[name]) == (row["value"], row["low"], row["high"])
    assert {metric for metric, _ in told} == set(COLLECTION.metrics)


BUCKETS = 'histogram_quantile(0.5, max by (le) (label_replace(deniable_share_below, "le", "$1", "below", "(.*)")))'


def test_a_curve_is_told_as_prometheus_has_histograms(watched: Watched) -> None:
    """At values that stay the same, with a share below each that never falls, and 1 below any; nothing of a metric
    that is no distribution. So what is in each part of the range is a difference, and a quantile is found in them."""
    told = query(watched.prometheus, "deniable_share_below")
    assert {labels["metric"] for labels, _ in told} == {"load_time"}
    shares = {float(labels["below"]): value for labels, value in told}
    assert [*shares] != [math.inf]
    ordered = [shares[value] for value in sorted(shares)]
    assert ordered == sorted(ordered)
    assert (ordered[0] >= 0, shares[math.inf]) == (True, 1)
    assert max(value for value in shares if value < math.inf) < 1_000
    found = query(watched.prometheus, BUCKETS)
    assert 0 <= found[0][1] <= 1_000


def test_metrics_follow_the_naming_guide(watched: Watched) -> None:
    """`promtool check metrics` has nothing to say, and there are few series."""
    with urllib.request.urlopen(f"{watched.aggregator.page}/metrics", timeout=PATIENCE) as response:
        text = response.read().decode()
    checked = promtool("check", "metrics", given=text)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert len([line for line in text.splitlines() if not line.startswith("#")]) < 300
    for name in ("deniable_build_info", "deniable_metric_epsilon", "deniable_estimate_upper_bound"):
        assert re.search(rf"^{name}\{{", text, flags=re.MULTILINE)


def dashboards() -> list[tuple[str, str, str]]:
    """Every query of every panel of the dashboards: the panel, the query's name, the query."""
    found = []
    for path in sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            found += [(panel["title"], target["refId"], target["expr"]) for target in panel["targets"]]
    return found


SILENT = {
    ("Quantities, to 0 decimals", "A"), ("Quantities, to 0 decimals", "B"), ("Quantities, to 0 decimals", "C"),
    ("Quantities, to 4 decimals", "A"), ("Quantities, to 4 decimals", "B"), ("Quantities, to 4 decimals", "C"),
    ("Quantities and totals over time", "A"), ("Quantities and totals over time", "C"),
    ("Quantities and totals over time", "D"), ("Errors of the store", "A"), ("The store's memory", "B"),
    ("Most frequent words", "A"), ("Words that have changed since the epoch before", "A"),
}  # fmt: skip
"""The collection asks for one quantity, to two decimals, and for no words (test_text.py has some); the store has
made no error and has no limit."""


def numbers(prometheus: str, expression: str) -> bool:
    """Whether there is an answer, and all of it are numbers: a quantile of nothing is none."""
    found = query(prometheus, expression)
    return bool(found) and all(value == value for _, value in found)


def test_every_query_of_the_dashboards_returns_data_or_the_expected_silence(watched: Watched) -> None:
    """All panels, with their variables chosen, against the real thing."""
    prometheus = watched.prometheus
    panels = dashboards()
    assert len(panels) > 35
    for panel, name, asked in sorted(panels, key=lambda each: each[:2] in SILENT):  # those last: rules take a while
        expression = asked.replace("$collection", "editor").replace("$metric", ".*").replace("$key", "yes")
        expression = expression.replace("$distribution", "load_time")
        if (panel, name) in SILENT:
            assert query(prometheus, expression) == [], f"{panel} {name}: {expression}"
        else:
            soon(partial(numbers, prometheus, expression), f"{panel} {name}: {expression}")


def test_every_variable_of_the_dashboards_has_values(watched: Watched) -> None:
    """Collections, metrics and keys to choose from."""
    for path in (ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"):
        for variable in json.loads(path.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
                assert match, variable["definition"]
                selector = match[1].replace("$collection", "editor").replace("$metric", ".*")
                assert {labels[match[2]] for labels, _ in query(watched.prometheus, selector)}


def test_alerts_are_evaluated_and_only_the_expected_ones_stir(watched: Watched) -> None:
    """No rule is in error; a metric that expires in five days fires, intervals of so few devices are pending."""
    prometheus = watched.prometheus
    soon(lambda: all(rule["health"] != "unknown" for rule in rules(prometheus)), "every rule was evaluated")
    found = rules(prometheus)
    assert {rule["name"]: rule.get("lastError") for rule in found if rule["health"] != "ok"} == {}
    assert len([rule for rule in found if rule["type"] == "alerting"]) == 15
    expected = {"DeniableCollectionExpiring": "firing", "DeniableIntervalTooWide": "pending"}
    soon(lambda: stirring(prometheus) == expected, f"{expected} stir, and nothing else")


def stirring(address: str) -> dict[str, str]:
    """The alerts that are not silent. (A scrape that took too long has DeniableDown pending, for a second.)"""
    alerts = (rule for rule in rules(address) if rule["type"] == "alerting")
    return {rule["name"]: rule["state"] for rule in alerts if rule["state"] != "inactive"}


def test_counts_go_on_after_a_restart_of_everything(directory: Path) -> None:
    """The aggregator is ended and started again: its counts are those of all that was ever submitted to it."""
    with served(directory / "again", "127.0.0.1:0", directory / "metrics.toml", "--workers", "2") as aggregator:
        assert set(submit(aggregator.endpoint, [batch.request for batch in batches(30)])) == {grpc.StatusCode.OK}
    with served(directory / "again", "127.0.0.1:0", directory / "metrics.toml", "--workers", "2") as aggregator:
        assert set(submit(aggregator.endpoint, [batch.request for batch in batches(20)])) == {grpc.StatusCode.OK}
        with urllib.request.urlopen(f"{aggregator.page}/metrics", timeout=PATIENCE) as response:
            text = response.read().decode()
    assert "deniable_batches_accepted_total 50.0" in text
    assert f"deniable_reports_accepted_total {50.0 * REPORTS}" in text
    assert 'deniable_reports{collection="editor",metric="crashed"} 50.0' in text


def test_alerts_fire_where_they_should_and_only_there() -> None:
    """`promtool test rules`: a case for every alert, beside one in which it stays silent."""
    tested = promtool("test", "rules", DEPLOY / "alerts_test.yml", DEPLOY / "slow_alerts_test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_the_configuration_is_sound() -> None:
    """`promtool check config` and `check rules` accept what deploy/ has."""
    for arguments in (("config", DEPLOY / "prometheus.yml"), ("rules", DEPLOY / "rules.yml", DEPLOY / "alerts.yml")):
        checked = promtool("check", *arguments)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_alert_is_tested_and_has_a_runbook_entry() -> None:
    """No alert without a case in the tests, and none without words for the one whom it wakes."""
    names = re.findall(r"- alert: (\w+)", (DEPLOY / "alerts.yml").read_text())
    tests = (DEPLOY / "alerts_test.yml").read_text() + (DEPLOY / "slow_alerts_test.yml").read_text()
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    assert len(names) == 15
    for name in names:
        assert f"alertname: {name}\n        exp_alerts:\n          - exp_labels" in tests, name
        assert f"\n## {name}\n" in runbook, name
        assert f"runbook: docs/runbook.md#{name.lower()}\n" in (DEPLOY / "alerts.yml").read_text()


def test_panels_show_the_digits_that_everything_else_shows() -> None:
    """Shares in percent with two decimals, quantities with those of their series, as `digits` has it."""
    crashed, minutes = COLLECTION.metrics["crashed"], COLLECTION.metrics["minutes"]
    (panels,) = (
        {panel["title"]: panel for panel in json.loads(path.read_text())["panels"]}
        for path in (ROOT / "deploy" / "grafana" / "dashboards").glob("deniable-answers.json")
    )
    shares = panels["Shares, with their 95% intervals"]["fieldConfig"]["defaults"]
    assert (shares["unit"], shares["decimals"]) == ("percentunit", decimals(headings(crashed)[0]))
    own = decimals(headings(minutes)[0])
    quantities = panels[f"Quantities, to {own} decimals"]
    assert quantities["fieldConfig"]["defaults"]["decimals"] == own
    assert all(f'decimals="{own}"' in target["expr"] for target in quantities["targets"])
    over_time = panels["Quantities and totals over time"]
    for target, override, places in zip(
        over_time["targets"], over_time["fieldConfig"]["overrides"], DECIMALS, strict=True
    ):
        assert override["matcher"] == {"id": "byFrameRefID", "options": target["refId"]}
        assert override["properties"] == [{"id": "decimals", "value": places}]
        assert f'decimals="{places}"' in target["expr"]
