"""The Helm chart: rendered by Helm, held against the schemas of Kubernetes, and what its pods run, run here."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from deniable_aggregator import Reader
from deniable_aggregator.web import prometheus
from support.commands import EDITOR, ROOT
from support.deployed import DEPLOY, StoreOfOnesOwn, batches, serving, store
from support.ports import free_port
from support.programs import deploys
from support.prometheus import promtool
from support.submitting import submit
from support.waiting import soon

CHART = DEPLOY / "helm" / "deniable"
GIVEN = ("--set-file", f"collections.metrics\\.toml={EDITOR}")
ALL = (
    *GIVEN,
    "--set",
    "serviceMonitor.enabled=true,rules.enabled=true,ingest.autoscaling.waitingBatches=2000",
    "--set",
    "tls.secret=own-tls,tokens.secret=own-tokens,store.shards=3,settings.keep={90d}",
    "--set",
    "serviceMonitor.token.secret=own-reader",
)
ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}
VERSIONS = ("1.27", "1.37")
"""Of Kubernetes, of which the first one is the oldest that the chart is for."""

Documents = list[dict[str, Any]]


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """What Helm says."""
    return subprocess.run([deploys("helm"), *words], capture_output=True, text=True, env=os.environ)


@functools.cache
def rendered(*words: str) -> Documents:
    """What would be installed as `fleet`; nobody changes it."""
    found = helm("template", "fleet", CHART, *words)
    assert found.returncode == 0, found.stderr
    return [each for each in yaml.load_all(found.stdout, yaml.CSafeLoader) if each]


def of(documents: Documents, kind: str) -> Documents:
    """Those of a kind."""
    return [each for each in documents if each["kind"] == kind]


@pytest.fixture(scope="module", params=[GIVEN, ALL], ids=["least", "all"])
def documents(request: pytest.FixtureRequest) -> Documents:
    """With the fewest values, and with all that can be asked for."""
    return rendered(*request.param)


def test_helm_has_nothing_to_say() -> None:
    """Neither of the chart nor of what is in it."""
    for words in (GIVEN, ALL):
        found = helm("lint", "--strict", CHART, *words)
        assert found.returncode == 0, found.stdout
        assert not re.findall(r"\[(?:WARNING|ERROR)\].*", found.stdout)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_takes_it(documents: Documents, version: str, tmp_path: Path) -> None:
    """By the schemas of its API, which know every field. Those of Prometheus' operator are not among them."""
    own = [each for each in documents if not each["apiVersion"].startswith("monitoring.coreos.com")]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(own))
    command: list[str | Path] = [deploys("kubernetes-validate"), "--strict", "-k", version, tmp_path / "all.yaml"]
    found = subprocess.run(command, capture_output=True, text=True)
    said = found.stdout + found.stderr
    assert (found.returncode, "WARN" in said, "ERROR" in said) == (0, False, False), said
    assert said.count("passed") == len(own)


def test_a_package_of_it_has_dashboards_and_rules_once(tmp_path: Path) -> None:
    """Those that Grafana and Prometheus are given elsewhere: the files, not copies of them."""
    assert helm("package", CHART, "--destination", tmp_path).returncode == 0
    (archive,) = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as packed:
        found = {member.name.removeprefix("deniable/") for member in packed.getmembers()}
    boards = {f"dashboards/{path.name}" for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    assert {name for name in found if name.startswith(("dashboards", "prometheus"))} == {
        *boards,
        "prometheus/rules.yml",
        "prometheus/alerts.yml",
    }
    assert {path.is_symlink() for path in (CHART / "dashboards", CHART / "prometheus")} == {True}


def test_dashboards_rules_and_alerts_are_those_of_deploy(tmp_path: Path) -> None:
    """Word for word; and promtool takes the rules as they come out."""
    found = rendered(*ALL)
    boards = {name: text for each in of(found, "ConfigMap") for name, text in each["data"].items() if "json" in name}
    files = {path.name: path.read_text() for path in (DEPLOY / "grafana" / "dashboards").glob("*.json")}
    assert {name: json.loads(text) for name, text in boards.items()} == {
        name: json.loads(text) for name, text in files.items()
    }
    rules = {each["metadata"]["name"]: each["spec"] for each in of(found, "PrometheusRule")}
    for name in ("rules", "alerts"):
        assert rules[f"fleet-deniable-{name}"] == yaml.safe_load((DEPLOY / "prometheus" / f"{name}.yml").read_text())
        (tmp_path / name).write_text(yaml.safe_dump(rules[f"fleet-deniable-{name}"]))
        assert promtool("check", "rules", tmp_path / name).returncode == 0


def test_pods_are_as_restricted_as_pods_can_be(documents: Documents) -> None:
    """What the restricted profile of Pod Security asks for, a file system that is only read, and no account."""
    pods = [each["spec"]["template"]["spec"] for each in of(documents, "Deployment")]
    assert len(pods) == 2
    for pod in pods:
        own = pod["securityContext"]
        assert (own["runAsNonRoot"], own["runAsUser"], own["seccompProfile"]) == (
            True,
            65534,
            {"type": "RuntimeDefault"},
        )
        assert (pod["automountServiceAccountToken"], "hostNetwork" in pod) == (False, False)
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} <= container["resources"].keys()
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
        assert [each["name"] for each in container["volumeMounts"] if not each.get("readOnly")] == ["tmp"]
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}


def test_what_belongs_together_finds_itself(documents: Documents) -> None:
    """Services, budgets and policies select the pods that they are for, by ports that these have."""
    deployments = {each["metadata"]["name"]: each["spec"]["template"] for each in of(documents, "Deployment")}
    assert set(deployments) == {"fleet-deniable-ingest", "fleet-deniable-query"}

    def chosen(labels: Mapping[str, str]) -> list[str]:
        return [name for name, pod in deployments.items() if labels.items() <= pod["metadata"]["labels"].items()]

    names = {port["name"] for pod in deployments.values() for port in pod["spec"]["containers"][0]["ports"]}
    for service in of(documents, "Service"):
        name = service["metadata"]["name"]
        assert chosen(service["spec"]["selector"]) == (list(deployments) if name.endswith("-metrics") else [name])
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= names
    for kind in ("PodDisruptionBudget", "NetworkPolicy"):
        found = of(documents, kind)
        selectors = [each["spec"].get("selector", each["spec"].get("podSelector"))["matchLabels"] for each in found]
        assert [chosen(each) for each in selectors] == [[name] for name in deployments]
    (scaler,) = of(documents, "HorizontalPodAutoscaler")
    assert scaler["spec"]["scaleTargetRef"]["name"] == "fleet-deniable-ingest"
    assert "replicas" not in next(each for each in of(documents, "Deployment"))["spec"]
    maps = {each["metadata"]["name"] for each in of(documents, "ConfigMap")}
    for pod in deployments.values():
        assert {each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each} <= maps


def test_nobody_is_let_in_who_was_not_named(documents: Documents) -> None:
    """Each port is for whom the values name; a pod reaches its store and DNS, and nothing else."""
    for policy in of(documents, "NetworkPolicy"):
        spec = policy["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule["from"] for rule in spec["ingress"])
        assert [port["port"] for rule in spec["egress"] for port in rule["ports"]] == [6379, 53, 53]
        whom = [[port["port"] for port in rule["ports"]] for rule in spec["ingress"]]
        assert whom == (
            [["grpc"], ["http"]] if "ingest" in policy["metadata"]["name"] else [["grpc", "http"], ["http"]]
        )


def test_a_collector_of_spans_can_be_reached_where_one_is_named() -> None:
    """At its port, by the peers that are named, or anywhere."""
    said = "otlp=https://collector.monitoring.svc:4317/"
    peer = {"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}
    for words, reached in (
        ((), {}),
        (("--set-json", f"networkPolicy.collector=[{json.dumps(peer)}]"), {"to": [peer]}),
    ):
        for policy in of(rendered(*GIVEN, "--set", said, *words), "NetworkPolicy"):
            assert policy["spec"]["egress"][1] == {"ports": [{"port": 4317}], **reached}


def test_more_aggregators_come_for_processors_and_for_batches_that_wait() -> None:
    """The second by a metric that an aggregator tells, where somebody has an adapter for it."""
    (scaler,) = of(rendered(*ALL), "HorizontalPodAutoscaler")
    by = [each["type"] for each in scaler["spec"]["metrics"]]
    assert by == ["Resource", "Pods"]
    name = scaler["spec"]["metrics"][1]["pods"]["metric"]["name"]
    assert f'"{name}"' in (ROOT / "aggregator" / "deniable_aggregator" / "web" / "prometheus.py").read_text()
    assert len(of(rendered(*GIVEN), "HorizontalPodAutoscaler")[0]["spec"]["metrics"]) == 1
    assert not of(rendered(*GIVEN, "--set", "ingest.autoscaling.enabled=false"), "HorizontalPodAutoscaler")


def test_where_aggregators_speak_tls_they_are_asked_by_it() -> None:
    """The page and its counts do then, too."""
    (monitor,) = of(rendered(*ALL), "ServiceMonitor")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    for words, insecure, protocol in ((GIVEN, True, "http"), (ALL, False, "https")):
        found = rendered(*words)
        settings = [each["data"]["serve.toml"] for each in of(found, "ConfigMap") if "serve.toml" in each["data"]]
        assert ["insecure = true" in each for each in settings] == [insecure] * 2
        ports = [port for each in of(found, "Service") for port in each["spec"]["ports"] if port["name"] == "http"]
        assert {port["appProtocol"] for port in ports} == {protocol}


def test_answers_are_told_by_those_who_answer_alone() -> None:
    """Every pod has them of one store: told by all, an alert about them would be as many."""
    (monitor,) = of(rendered(*ALL), "ServiceMonitor")
    (dropped,) = monitor["spec"]["endpoints"][0]["metricRelabelings"]
    names = re.findall(r'"(deniable_\w+)"', inspect.getsource(prometheus._estimates))
    assert "deniable_suspicions" in names
    told = ["deniable_row_info" if each == "deniable_row" else each for each in names]  # as the library calls it
    assert [each for each in told if not re.fullmatch(dropped["regex"], f"ingest;{each}")] == []


def test_no_secret_is_written_down(documents: Documents) -> None:
    """The store's address is read from a secret that is made elsewhere, and is in no map, flag or annotation."""
    assert not of(documents, "Secret")
    for each in of(documents, "Deployment"):
        (container,) = each["spec"]["template"]["spec"]["containers"]
        (variable,) = container["env"]
        assert variable == {
            "name": "DENIABLE_SERVE_REDIS",
            "valueFrom": {"secretKeyRef": {"name": "deniable-store", "key": "aggregator.url"}},
        }
    assert "redis://" not in yaml.safe_dump_all(documents)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no collection to serve"),
        ((*GIVEN, "--set", "store.durability=perhaps"), "durability"),
        ((*GIVEN, "--set", "ingest.workers=0"), "workers"),
        ((*GIVEN, "--set", "ingst.workers=2"), "ingst"),
        ((*GIVEN, "--set", "networkPolicy.people=null"), "people"),
        ((*GIVEN, "--set-json", "networkPolicy.devices=[]"), "devices"),
        ((*GIVEN, "--set", "settings.listen=[::]:1"), "listen"),
        ((*GIVEN, "--set", "tls.secret=own-tls"), "tls.secret goes with tokens.secret"),
        ((*GIVEN, "--set", "otlp=https://collector"), "otlp"),
    ],
)
def test_a_wrong_value_is_named(words: tuple[str, ...], said: str) -> None:
    """Before anything is installed."""
    found = helm("template", "fleet", CHART, *words)
    assert found.returncode != 0
    assert said in found.stderr


@pytest.fixture
def own(tmp_path: Path) -> Iterator[StoreOfOnesOwn]:
    """A store with the users of deploy/valkey."""
    with store(tmp_path, free_port()) as found:
        yield found


def test_what_ingest_takes_query_answers(
    own: StoreOfOnesOwn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both run by the settings of their pods, on one store, with collections as a config map shows them."""
    maps = {each["metadata"]["name"]: each["data"] for each in of(rendered(*GIVEN), "ConfigMap")}
    shown = tmp_path / "collections"
    mount(shown, maps["fleet-deniable-collections"], "one")
    assert (shown / "metrics.toml").read_text().strip() == EDITOR.read_text().strip()
    monkeypatch.setenv("DENIABLE_SERVE_REDIS", own.aggregator)
    with ExitStack() as stack:
        running = {}
        for role in ("ingest", "query"):
            settings = maps[f"fleet-deniable-{role}"]["serve.toml"].replace("/etc/deniable/collections", str(shown))
            settings = settings.replace("[::]:8470", "127.0.0.1:0").replace("0.0.0.0:8471", "127.0.0.1:0")
            (tmp_path / f"{role}.toml").write_text(settings)
            running[role] = stack.enter_context(serving("--config", tmp_path / f"{role}.toml"))
        sent = [batch.request for batch in batches(30, ANSWERS)]
        assert set(submit(running["ingest"].endpoint, sent)) == {grpc.StatusCode.OK}
        with Reader(running["query"].endpoint) as reader:
            soon(lambda: max(row["reports"] for row in reader.estimates("crashed")) == 30)
            other = EDITOR.read_text().replace('name = "editor"', 'name = "other"')
            mount(shown, maps["fleet-deniable-collections"] | {"other.toml": other}, "two")
            soon(lambda: {each.name for each in reader.collections()} == {"editor", "other"}, "the other is served")


def mount(directory: Path, data: Mapping[str, str], version: str) -> None:
    """Show a config map in a directory as a kubelet does: by links into a directory that is exchanged as a whole."""
    directory.mkdir(exist_ok=True)
    (directory / f"..{version}").mkdir()
    for name, text in data.items():
        (directory / f"..{version}" / name).write_text(text)
    (directory / "..fresh").symlink_to(f"..{version}")
    (directory / "..fresh").replace(directory / "..data")
    for name in data:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")


def test_prometheus_shows_a_token_where_one_is_asked_for() -> None:
    """Aggregators with tokens tell their metrics to who has one."""
    for words, said in (
        (ALL, {"credentials": {"name": "own-reader", "key": "token"}}),
        ((*GIVEN, "--set", "serviceMonitor.enabled=true"), None),
    ):
        (monitor,) = of(rendered(*words), "ServiceMonitor")
        assert monitor["spec"]["endpoints"][0].get("authorization") == said
