"""Panels and dashboards of Grafana, as its files have them: what tools/dashboards.py puts together.

words:
  panel      a drawing of what some queries say
  override   what is different for some of its series
  variable   a choice at the top of a dashboard
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

__all__ = [
    "COUNT",
    "LINE",
    "NEWEST",
    "SHARES",
    "Panel",
    "dashboard",
    "over_time",
    "override",
    "panel",
    "query",
    "stat",
    "variable",
]

Panel = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${source}"}
SHARES = {"unit": "percentunit", "decimals": 2}
COUNT = {"unit": "locale", "decimals": 0}
NEWEST = {"reduceOptions": {"calcs": ["lastNotNull"]}}
LINE = {"custom": {"drawStyle": "line", "lineWidth": 2, "showPoints": "never", "spanNulls": True}}


def query(expression: str, legend: str, ref: str, *, now: bool = False) -> Panel:
    """One query; `now` asks for the newest value only, as a table has it."""
    asked: Panel = {"datasource": SOURCE, "expr": expression, "legendFormat": legend, "refId": ref}
    return asked | ({"instant": True, "format": "table", "range": False} if now else {"range": True})


def panel(kind: str, title: str, width: int, height: int, queries: Sequence[Panel], **more: Any) -> Panel:
    """A panel; where it stands is settled when the dashboard is put together."""
    config = {"defaults": more.pop("defaults", {}), "overrides": more.pop("overrides", [])}
    size = {"w": width, "h": height}
    return {
        "type": kind,
        "title": title,
        "description": more.pop("about", ""),
        "datasource": SOURCE,
        "gridPos": size,
        "targets": list(queries),
        "fieldConfig": config,
        **more,
    }


def override(matcher: str, options: str, **properties: Any) -> Panel:
    """What is different for some series."""
    values = [{"id": name.replace("__", "."), "value": value} for name, value in properties.items()]
    return {"matcher": {"id": matcher, "options": options}, "properties": values}


def over_time(title: str, unit: str, queries: Sequence[Panel], **more: Any) -> Panel:
    """Lines from 0 on, half as wide as the page."""
    return panel("timeseries", title, 12, 8, queries, defaults=LINE | {"min": 0, "unit": unit}, **more)


def stat(title: str, expression: str, defaults: Panel) -> Panel:
    """One number."""
    options = {**NEWEST, "graphMode": "area", "colorMode": "none"}
    return panel("stat", title, 6, 4, [query(expression, "", "A")], defaults=defaults, options=options)


def variable(name: str, asked: str, *, several: bool = False) -> Panel:
    """A choice at the top of a dashboard."""
    chosen = {
        "includeAll": several,
        "multi": several,
        "current": {"text": ["All"], "value": ["$__all"]} if several else {},
    }
    about = {"type": "query", "datasource": SOURCE, "definition": asked, "refresh": 2, "sort": 1}
    return {"name": name, "label": name, "query": {"query": asked, "refId": name}, **about, **chosen}


def dashboard(uid: str, title: str, panels: Sequence[Panel], variables: Sequence[Panel]) -> Panel:
    """Panels, one after another in rows of 24 columns."""
    numbers = count(1)
    source = {"name": "source", "label": "data source", "type": "datasource", "query": "prometheus", "current": {}}
    return {
        "uid": uid,
        "title": title,
        "tags": ["deniable"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-30d" if variables else "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {"list": [source, *variables]},
        "panels": [{"id": next(numbers), **each} for each in placed(panels)],
    }


def placed(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Each with the place where it stands."""
    x = y = height = 0
    for each in panels:
        size = each["gridPos"]
        if x + size["w"] > 24:
            x, y, height = 0, y + height, 0
        yield {**each, "gridPos": {**size, "x": x, "y": y}}
        x, height = x + size["w"], max(height, size["h"])
