"""`python -m tools.dashboards` writes deploy/grafana/dashboards; with --check, it says if they are what is there.

Grafana cannot be run by the tests. What can be checked without it is: every query is run against a real Prometheus
that scrapes a real aggregator, and panels show the decimals of `deniable_aggregator.telling.digits`, by Grafana's own
rule.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tools.panels import (
    COUNT,
    LINE,
    NEWEST,
    SHARES,
    Panel,
    dashboard,
    over_time,
    override,
    panel,
    query,
    stat,
    variable,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "deploy" / "grafana" / "dashboards"
DECIMALS = (0, 2, 4, 6)
"""What a quantity can be written with; see deniable_aggregator.telling.digits."""

ABOUT = 'collection="$collection", metric=~"$metric"'
QUANTILE = '* on (instance, collection, metric, series, key) group_left () deniable_row_info{series="quantiles"}'
TEXT = '* on (instance, collection, metric) group_left () deniable_metric_info{kind="text"}'
FEW = {"noValue": "too few to tell"}
"""What stands where a row has an interval and is not told; see deniable_aggregator.telling.few."""
WORDS = 20
"""So many words are drawn of all texts."""
SHARE = '* on (instance, collection, metric, series, key) group_left () deniable_row_info{measure="share"}'


BAND = [
    override("byName", "upper", custom__fillBelowTo="lower", custom__fillOpacity=15, custom__lineWidth=0),
    override("byName", "lower", custom__lineWidth=0),
    override("byRegexp", "upper|lower", custom__hideFrom={"legend": True, "tooltip": False, "viz": False}),
]


def band(title: str, restriction: str, defaults: Panel, key: str = "$key", **more: Any) -> Panel:
    """An estimate over time, with its interval as a band."""
    series = f'{{{ABOUT}, key="{key}"}}'
    families = (
        ("deniable_estimate_told", "estimate", "A"),
        ("deniable_estimate_upper_bound", "upper", "B"),
        ("deniable_estimate_lower_bound", "lower", "C"),
    )
    queries = [
        query(f"max by (metric) ({name}{series} {restriction})", legend, ref) for name, legend, ref in families
    ]
    return panel("timeseries", title, 12, 9, queries, defaults=LINE | defaults, overrides=BAND, **more)


def told(title: str, measure: str, defaults: Panel, *, decimals: int | None = None) -> Panel:
    """The newest estimates of one measure, a row each, with the ends of their intervals."""
    rows = f'measure="{measure}"' + (f', decimals="{decimals}"' if decimals is not None else "")
    join = f"* on (instance, collection, metric, series, key) group_left () deniable_row_info{{{rows}}}"
    families = (
        ("deniable_estimate_told", "A"),
        ("deniable_estimate_lower_bound", "B"),
        ("deniable_estimate_upper_bound", "C"),
    )
    queries = [
        query(f"max by (metric, series, key) ({name}{{{ABOUT}}} {join})", "", ref, now=True) for name, ref in families
    ]
    names = {"Value #A": "estimate", "Value #B": "from", "Value #C": "to"}
    order = {name: place for place, name in enumerate(("metric", "series", "key", *names))}
    shaped = [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"renameByName": names, "indexByName": order, "excludeByName": {"Time": True}}},
    ]
    digits = {} if decimals is None else {"decimals": decimals}
    return panel("table", title, 12, 8, queries, defaults=defaults | digits | FEW, transformations=shaped)


def heat() -> Panel:
    """Where the devices of a distribution are, over time: the darker, the more. Prometheus' data source takes what is
    below a value from what is below the next one, as of a histogram."""
    shares = 'deniable_share_below{collection="$collection", metric=~"$distribution"}'
    asked = query(f'max by (le) (label_replace({shares}, "le", "$1", "below", "(.*)"))', "{{le}}", "A")
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 64, "min": 0, "exponent": 0.5, "fill": "blue"},
        "cellValues": SHARES,
        "yAxis": {"axisPlacement": "left", "reverse": False},
        "rowsFrame": {"layout": "le", "value": "share of devices"},
        "tooltip": {"mode": "single", "yHistogram": False},
        "legend": {"show": True},
    }
    return panel(
        "heatmap",
        "$distribution over time",
        12,
        9,
        [asked | {"format": "heatmap"}],
        options=options,
        repeat="distribution",
        repeatDirection="h",
        maxPerRow=2,
        about="Of each part of the range the share of devices in it, by the curve that never falls.",
    )


def words() -> list[Panel]:
    """Of texts, the words that are found by most devices, and those whose shares have changed."""
    shares = f'{{{ABOUT}, series="shares"}} {TEXT}'
    return [
        panel(
            "bargauge",
            "Most frequent words",
            12,
            9,
            [
                query(
                    f"topk({WORDS}, max by (metric, key) (deniable_estimate_told{shares}))",
                    "{{metric}}: {{key}}",
                    "A",
                )
            ],
            defaults=SHARES | {"min": 0},
            options={"orientation": "horizontal", "displayMode": "basic", **NEWEST},
            about="Words that nobody has listed: of each text the twenty most frequent are told, and one in twenty "
            "of those that are found may be false. What can not be seen stands as a number.",
        ),
        panel(
            "table",
            "Words that have changed since the epoch before",
            12,
            9,
            [query(f"max by (metric, key) (deniable_change{shares})", "", "A", now=True)],
            defaults=SHARES,
            transformations=[
                {"id": "organize", "options": {"renameByName": {"Value": "by"}, "excludeByName": {"Time": True}}}
            ],
            about="By more than noise explains; a word that was not found before is among them if that is certain.",
        ),
    ]


def answers() -> Panel:
    """What the population answers."""
    panels = [
        told("Shares, with their 95% intervals", "share", SHARES),
        *(
            told(f"Quantities, to {decimals} decimals", "quantity", {"unit": "none"}, decimals=decimals)
            for decimals in DECIMALS[:3]
        ),
        band(
            "$metric: $key",
            SHARE,
            SHARES,
            repeat="key",
            repeatDirection="h",
            maxPerRow=2,
            about="The newest epoch that is well under way, and its 95% interval as a band.",
        ),
        panel(
            "timeseries",
            "Reports behind the estimates",
            12,
            8,
            [query(f"max by (metric) (deniable_reports{{{ABOUT}}})", "{{metric}}", "A")],
            defaults=LINE | COUNT | {"min": 0},
        ),
        panel(
            "timeseries",
            "Width of intervals",
            12,
            8,
            [
                query(
                    "max by (metric, series, key) "
                    f"(collection_metric_series_key:deniable_interval_width{{{ABOUT}}} {SHARE})",
                    "{{metric}}: {{key}}",
                    "A",
                )
            ],
            defaults=LINE | SHARES | {"min": 0},
            about="How much is not known. It halves when four times as many devices report.",
        ),
        panel(
            "timeseries",
            "Quantities and totals over time",
            12,
            9,
            [
                query(
                    f"max by (metric, series, key) (deniable_estimate_told{{{ABOUT}}} "
                    "* on (instance, collection, metric, series, key) "
                    f'group_left () deniable_row_info{{measure="quantity", decimals="{decimals}"}})',
                    "{{metric}}: {{key}}",
                    ref,
                )
                for decimals, ref in zip(DECIMALS, "ABCD", strict=True)
            ],
            defaults=LINE | {"unit": "none"},
            overrides=[
                override("byFrameRefID", ref, decimals=decimals)
                for decimals, ref in zip(DECIMALS, "ABCD", strict=True)
            ],
        ),
        panel(
            "bargauge",
            "Epsilon that an epoch's answer costs a device",
            12,
            9,
            [query(f"max by (metric) (deniable_metric_epsilon{{{ABOUT}}})", "{{metric}}", "A")],
            defaults={"unit": "none", "min": 0, "max": 8},
            options={"orientation": "horizontal", "displayMode": "basic", **NEWEST},
        ),
        panel(
            "timeseries",
            "Quantiles over time",
            12,
            9,
            [
                query(
                    f"max by (metric, key) (deniable_estimate_told{{{ABOUT}}} {QUANTILE})", "{{metric}}: {{key}}", "A"
                )
            ],
            defaults=LINE | {"unit": "none", "decimals": 2},
            about="Of distributions, in the unit of each.",
        ),
        band(
            "Median of $metric",
            QUANTILE,
            {"unit": "none", "decimals": 2},
            key="p50",
            about="Of distributions, with its 95% interval as a band.",
        ),
    ]
    panels += [*words(), heat()]
    variables = [
        variable("collection", "label_values(deniable_metric_info, collection)"),
        variable("metric", 'label_values(deniable_metric_info{collection="$collection"}, metric)', several=True),
        variable(
            "distribution",
            'label_values(deniable_share_below{collection="$collection"}, metric)',
            several=True,
        ),
        variable("key", f"label_values(deniable_row_info{{{ABOUT}}}, key)", several=True),
    ]
    return dashboard("deniable-answers", "Deniable: what the population answers", panels, variables)


def operations() -> Panel:
    """How the aggregators are doing."""
    panels = [
        stat("Aggregators that answer", 'sum(up{job="deniable"})', {"unit": "none"}),
        stat("Stores that answer", "sum(deniable_store_up)", {"unit": "none"}),
        stat("Batches accepted today", "sum(increase(deniable_batches_accepted_total[1d]))", COUNT),
        stat("Refused of the last hour", "sum(increase(deniable_batches_refused_total[1h]))", COUNT),
        over_time(
            "Batches accepted",
            "reqps",
            [
                query("instance:deniable_batches_accepted:rate5m", "{{instance}}", "A"),
                query("sum(rate(deniable_batches_duplicate_total[5m]))", "duplicates", "B"),
            ],
        ),
        over_time(
            "Batches refused, by reason",
            "reqps",
            [query("sum by (reason) (instance_reason:deniable_batches_refused:rate5m)", "{{reason}}", "A")],
        ),
        over_time(
            "Time to store",
            "s",
            [
                query("instance:deniable_flush_duration_seconds:p50_rate5m", "{{instance}} median", "A"),
                query("instance:deniable_flush_duration_seconds:p99_rate5m", "{{instance}} 99th percentile", "B"),
            ],
            about="From the first check of batches to their acknowledgement.",
        ),
        over_time(
            "Batches stored together",
            "none",
            [
                query(
                    "sum(rate(deniable_flush_batches_sum[5m])) / sum(rate(deniable_flush_batches_count[5m]))",
                    "mean",
                    "A",
                )
            ],
        ),
        over_time(
            "Waiting to be stored",
            "locale",
            [query("sum by (instance) (deniable_batches_waiting)", "{{instance}}", "A")],
        ),
        over_time(
            "Errors of the store",
            "reqps",
            [query("sum by (error) (rate(deniable_store_errors_total[5m]))", "{{error}}", "A")],
        ),
        over_time(
            "The store's memory",
            "bytes",
            [
                query("max by (instance) (deniable_store_memory_bytes)", "{{instance}} used", "A"),
                query("max by (instance) (deniable_store_memory_limit_bytes > 0)", "{{instance}} limit", "B"),
            ],
        ),
        over_time(
            "Round trip to the store",
            "s",
            [query("max by (instance) (deniable_store_round_trip_seconds)", "{{instance}}", "A")],
        ),
        over_time(
            "Ids outlive the acceptance of their batches by",
            "s",
            [query("min by (collection) (deniable_id_window_margin_seconds)", "{{collection}}", "A")],
            about="At zero a batch that is sent again could be counted twice.",
        ),
        over_time(
            "CPU and memory of the process that watches over the workers",
            "none",
            [
                query('rate(process_cpu_seconds_total{job="deniable"}[5m])', "{{instance}} CPUs", "A"),
                query('process_resident_memory_bytes{job="deniable"}', "{{instance}} memory", "B"),
            ],
            overrides=[override("byFrameRefID", "B", unit="bytes", custom__axisPlacement="right")],
        ),
        panel(
            "table",
            "Metrics that expire",
            12,
            8,
            [
                query(
                    "1000 * min by (collection, metric) (deniable_metric_expiry_timestamp_seconds)", "", "A", now=True
                )
            ],
            defaults={"unit": "dateTimeAsIsoNoDateIfToday"},
        ),
        panel("table", "Versions", 12, 8, [query("deniable_build_info", "", "A", now=True)]),
    ]
    return dashboard("deniable-operations", "Deniable: how the aggregators are doing", panels, [])


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for made in (answers(), operations()):
        path = TARGET / f"{made['uid']}.json"
        text = json.dumps(made, indent=2) + "\n"
        if check and (not path.exists() or path.read_text() != text):
            stale.append(path.name)
        elif not check:
            path.write_text(text)
    if stale:
        print(f"not what python -m tools.dashboards writes: {', '.join(stale)}; run it", file=sys.stderr)
    return len(stale) > 0


if __name__ == "__main__":
    sys.exit(main())
