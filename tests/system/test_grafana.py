"""What deploy/ has for Grafana, which can not be run here: what it is told is checked, not what it does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.commands import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))


def test_dashboards_are_what_their_code_writes() -> None:
    """`tools.dashboards` would write the very files that are checked in."""
    checked = subprocess.run(
        [sys.executable, "-m", "tools.dashboards", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_have_their_own_place_and_the_chosen_data_source(path: Path) -> None:
    """No two panels overlap or share an id, and all ask the data source that is chosen at the top."""
    board = json.loads(path.read_text())
    assert board["uid"] == path.stem
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        for asks in (panel, *panel["targets"]):
            assert asks["datasource"] == {"type": "prometheus", "uid": "${source}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_bands_are_drawn_between_the_ends_of_intervals() -> None:
    """A band's upper end is filled down to its lower one, by the names that the two series have."""
    boards = [json.loads(path.read_text()) for path in DASHBOARDS]
    bands = [panel for board in boards for panel in board["panels"] if "lower_bound" in json.dumps(panel["targets"])]
    drawn = [panel for panel in bands if panel["type"] == "timeseries"]
    assert drawn
    for panel in drawn:
        assert [target["legendFormat"] for target in panel["targets"]] == ["estimate", "upper", "lower"]
        fill = {"id": "custom.fillBelowTo", "value": "lower"}
        upper = next(each for each in panel["fieldConfig"]["overrides"] if each["matcher"]["options"] == "upper")
        assert fill in upper["properties"]


def test_the_heat_map_is_asked_for_as_a_histogram_is() -> None:
    """By its bounds, of which the data source makes what lies between, for each distribution that is chosen."""
    boards = [json.loads(path.read_text()) for path in DASHBOARDS]
    (panel,) = (panel for board in boards for panel in board["panels"] if panel["type"] == "heatmap")
    (target,) = panel["targets"]
    assert (target["format"], target["legendFormat"], panel["options"]["calculate"]) == ("heatmap", "{{le}}", False)
    assert "by (le)" in target["expr"]
    assert panel["repeat"] in {own["name"] for board in boards for own in board["templating"]["list"]}


def test_every_series_that_is_asked_for_is_told_or_recorded() -> None:
    """Each name in a panel or rule is one of /metrics, of the rules, or of Prometheus itself."""
    asked = "".join(path.read_text() for path in DASHBOARDS) + (DEPLOY / "prometheus" / "alerts.yml").read_text()
    recorded = set(re.findall(r"record: (\S+)", (DEPLOY / "prometheus" / "rules.yml").read_text()))
    web = (ROOT / "aggregator" / "deniable_aggregator" / "web" / "prometheus.py").read_text()
    told = set(re.findall(r'"(deniable_\w+)"', web))
    endings = ("", "_total", "_info", "_bucket", "_sum", "_count")
    told |= {name + ending for name in told for ending in endings}
    for name in set(re.findall(r"[a-z_]*:?deniable_\w+(?::\w+)?", asked)):
        assert name in told | recorded, name


def test_grafana_is_provisioned_with_what_compose_mounts() -> None:
    """Data source and dashboards are where the provisioning files look, and compose puts them there."""
    compose = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    provider = yaml.safe_load((DEPLOY / "grafana" / "provisioning" / "dashboards" / "deniable.yml").read_text())
    source = yaml.safe_load((DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text())
    (path,) = {each["options"]["path"] for each in provider["providers"]}
    mounts = dict(volume.split(":")[:2] for volume in compose["services"]["grafana"]["volumes"])
    assert mounts["../grafana/dashboards"] == path
    assert mounts["../grafana/provisioning"] == "/etc/grafana/provisioning"
    (prometheus,) = source["datasources"]
    assert prometheus["url"] == "http://prometheus:9090"
    assert "prometheus" in compose["services"]
