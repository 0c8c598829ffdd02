"""What compose starts: checked by its schema, and run here by the same commands, but for files and ports."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
import yaml

from support.commands import COMMAND, EDITOR, ROOT
from support.deployed import DEPLOY, answers, batches, users
from support.endpoints import TLS
from support.ports import free_port
from support.programs import deploys, program
from support.prometheus import promtool, query, rules
from support.servers import VALKEY
from support.submitting import submit
from support.waiting import PATIENCE, soon

HERE = DEPLOY / "compose"
COMPOSE: dict[str, Any] = yaml.safe_load((HERE / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}


def test_compose_takes_the_file() -> None:
    """By the schema of the Compose specification."""
    command: list[str | Path] = [
        deploys("check-jsonschema"),
        "--builtin-schema",
        "vendor.compose-spec",
        HERE / "compose.yaml",
    ]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_the_image_is_made_as_images_should_be() -> None:
    """hadolint has nothing to say, and all that is copied is in reach of who builds."""
    found = subprocess.run([deploys("hadolint"), HERE / "Dockerfile"], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")
    text = (HERE / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--)(\S+)", text, re.MULTILINE)
    reached = re.findall(r"^!(.*)$", (HERE / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(reached)
    assert all((ROOT / each).exists() for each in copied)
    assert re.search(r"^USER 65534:65534$", text, re.MULTILINE)
    assert len(set(re.findall(r"^FROM (\S+)", text, re.MULTILINE))) == 1


def test_the_image_has_what_is_tested() -> None:
    """Each of its packages in the version that these tests run with; one for a collector has a few more."""
    shipped, traced, tested = (
        set(re.findall(r"^[\w.-]+==\S+", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE))
        for name in ("runtime", "tracing", "dev")
    )
    assert len(shipped) > 20
    assert shipped < traced <= tested
    assert all(each.startswith("opentelemetry-") for each in traced - shipped)


@pytest.mark.deep
@pytest.mark.parametrize("locked", ["runtime.txt", "tracing.txt"])
def test_the_image_can_be_made(locked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that fill it, in a directory of this machine. What is in it says what it would do, and takes
    a collector where it was made for one."""
    monkeypatch.setenv("LOCKED", locked)
    text = (HERE / "Dockerfile").read_text().replace("\\\n", "")
    steps = [line.removeprefix("RUN ") for line in text.splitlines() if line.startswith("RUN ")][:-1]
    for step in steps:
        subprocess.run(["sh", "-e", "-c", step.replace("/opt/deniable", str(tmp_path / "own"))], check=True, cwd=ROOT)
    assert not list((tmp_path / "own" / "bin").glob("pip*"))
    command: list[str | Path] = [
        tmp_path / "own" / "bin" / "deniable",
        "serve",
        EDITOR,
        "--data",
        tmp_path / "data",
        "--check",
    ]
    assert "would serve editor" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    traced = subprocess.run([*command, "--otlp", "http://127.0.0.1:4317"], capture_output=True, text=True)
    assert ("would send spans" in traced.stdout) == (locked == "tracing.txt")
    assert ("--otlp needs OpenTelemetry" in traced.stderr) == (locked == "runtime.txt")


def mounted(service: dict[str, Any]) -> list[str]:
    """What a service takes from this repository."""
    sources = [volume.split(":")[0] for volume in service.get("volumes", [])]
    return [source for source in sources if source.startswith(".")]


def test_compose_fits_together() -> None:
    """What is mounted and built exists, what is scraped is served, and where."""
    assert set(SERVICES) == {"edge", "aggregator", "valkey", "prometheus", "grafana"}
    for service in SERVICES.values():
        assert [source for source in mounted(service) if not (HERE / source).exists()] == []
        assert re.search(r":v?\d+\.\d+", service["image"]), "an image has a version"
    build = SERVICES["aggregator"]["build"]
    assert (HERE / build["context"] / build["dockerfile"]).exists()
    assert promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml").returncode == 0
    (scraped,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": ["aggregator:8471"]}]


def test_the_edge_of_the_containers_is_that_of_a_machine_with_others_behind(tmp_path: Path) -> None:
    """nginx takes its upstreams, and they say the same as those of one machine, but where the aggregator is."""
    upstreams = (HERE / "upstreams.conf").read_text()
    (own, there) = (re.findall(r"^upstream .*", text, re.MULTILINE)
                    for text in (upstreams, (DEPLOY / "nginx" / "upstreams.conf").read_text()))  # fmt: skip
    assert [line.replace("aggregator:", "127.0.0.1:") for line in own] == there
    (tmp_path / "upstreams.conf").write_text(upstreams.replace("aggregator:", "127.0.0.1:"))
    text = (DEPLOY / "nginx" / "nginx.conf").read_text()
    for name, file in (("server.pem", "server.pem"), ("server.key", "server.key"), ("people.pem", "ca.pem")):
        text = text.replace(f"/etc/deniable/{name}", str(TLS / file))
    (tmp_path / "nginx.conf").write_text(text)
    where = ("-p", tmp_path, "-c", tmp_path / "nginx.conf", "-g", f"pid {tmp_path / 'pid'};")
    found = subprocess.run([program("nginx"), "-t", *where], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_each_container_has_its_bounds() -> None:
    """None can write into its image or gain a right; memory and processes are bounded; all say how they are."""
    for name, service in SERVICES.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert {"mem_limit", "pids_limit", "restart"} <= service.keys(), name
        assert name == "aggregator" or "healthcheck" in service, name
    assert "HEALTHCHECK" in (HERE / "Dockerfile").read_text()


def test_nothing_is_said_in_the_clear_beyond_this_machine() -> None:
    """Ports of the edge speak TLS; all others are this machine's. Nobody but the aggregator reaches the store."""
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert name == "edge" or port.startswith("127.0.0.1:"), port
    listening = re.findall(r"listen (?:\[::\]:)?(\d+) (\w+)", (DEPLOY / "nginx" / "nginx.conf").read_text())
    assert {f"{port}:{port}" for port, how in listening if how == "ssl"} == set(SERVICES["edge"]["ports"])
    assert {how for _, how in listening} == {"ssl"}
    assert [name for name, own in SERVICES.items() if "store" in own["networks"]] == ["aggregator", "valkey"]
    assert all(COMPOSE["networks"][name]["internal"] for name in ("inside", "store"))
    known = {path.name for path in HERE.iterdir()}
    assert not {Path(each["file"]).name for each in COMPOSE["secrets"].values()} & known


class Composed(NamedTuple):
    """The aggregator and the store of compose."""

    endpoint: str
    page: str
    store: subprocess.Popen[bytes]
    port: int


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """Both run by the very commands that compose gives them."""
    room = tmp_path_factory.mktemp("composed")
    port, reports, page = free_port(), free_port(), free_port()
    users(room / "secrets", f"redis://%s@127.0.0.1:{port}/0")
    (room / "data").mkdir()
    own = SERVICES["valkey"]
    assert own["entrypoint"] == ["valkey-server"]
    places = {
        "/etc/valkey/valkey.conf": DEPLOY / "valkey" / "valkey.conf",
        "0.0.0.0": "127.0.0.1",
        "/data": room / "data",
        "/run/secrets/users": room / "secrets" / "users.acl",
    }
    command = [VALKEY, *(str(places.get(word, word)) for word in own["command"]), "--port", str(port)]
    store = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    aggregator = None
    try:
        soon(lambda: answers(f"redis://health:@127.0.0.1:{port}"), "the store answers")
        settings = (HERE / "serve.toml").read_text().replace("/etc/deniable/collections", str(EDITOR.parent))
        settings = settings.replace("[::]:8470", f"[::]:{reports}").replace("0.0.0.0:8471", f"127.0.0.1:{page}")
        (room / "serve.toml").write_text(settings)
        aggregator = subprocess.Popen(
            aggregator_command(room),
            env=os.environ | {"PATH": f"{COMMAND.parent}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert aggregator.stdout
        assert " on " in aggregator.stdout.readline()
        yield Composed(f"127.0.0.1:{reports}", f"127.0.0.1:{page}", store, port)
    finally:
        if aggregator:
            aggregator.send_signal(signal.SIGTERM)
            aggregator.communicate(timeout=PATIENCE)
        store.kill()
        store.wait()


def aggregator_command(room: Path) -> list[str]:
    """Its entrypoint and command, in a room of its own."""
    own = SERVICES["aggregator"]
    words = [word.replace("$$", "$") for word in (*own["entrypoint"], *own["command"])]
    secret = COMPOSE["secrets"]["aggregator"]["file"].removeprefix("./")
    words = [word.replace("/run/secrets/aggregator", str(room / secret)) for word in words]
    return [word.replace("/etc/deniable/serve.toml", str(room / "serve.toml")) for word in words]


def health(endpoint: str) -> tuple[int, str]:
    """How an aggregator is, as its container asks."""
    command = [sys.executable, str(HERE / "health.py"), endpoint]
    found = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return found.returncode, found.stderr


def fetched(url: str) -> bool:
    """Whether somebody has an answer there."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=PATIENCE) as found:
        return bool(found.status == 200)
    return False


def test_prometheus_scrapes_the_aggregator(composed: Composed, tmp_path: Path) -> None:
    """By the flags and the file that it is given, but once a second; it is ready, and evaluates every rule."""
    own = shutil.copytree(DEPLOY / "prometheus", tmp_path / "own")
    text = (own / "prometheus.yml").read_text().replace("aggregator:8471", composed.page).replace("15s", "1s")
    (own / "prometheus.yml").write_text(text)
    address = f"127.0.0.1:{free_port()}"
    words = [word.replace("/etc/prometheus", str(own)) for word in SERVICES["prometheus"]["command"]]
    words = [word.replace("=/prometheus", f"={tmp_path / 'series'}") for word in words]
    command = [program("prometheus"), *words, f"--web.listen-address={address}", "--log.level=error"]
    with subprocess.Popen(command) as process:
        try:
            ready = SERVICES["prometheus"]["healthcheck"]["test"][-1].replace("127.0.0.1:9090", address)
            soon(lambda: fetched(ready), "Prometheus is ready")
            soon(lambda: [up for _, up in query(f"http://{address}", 'up{job="deniable"}')] == [1.0], "it is scraped")
            soon(lambda: {rule["health"] for rule in rules(f"http://{address}")} == {"ok"}, "every rule is evaluated")
        finally:
            process.terminate()


def test_aggregator_and_store_run_and_say_how_they_are(composed: Composed) -> None:
    """Reports are stored; both are well until the store goes, and the aggregator says so."""
    sent = [batch.request for batch in batches(20, ANSWERS)]
    assert set(submit(composed.endpoint, sent)) == {grpc.StatusCode.OK}
    assert health(composed.endpoint) == (0, "")
    asked = SERVICES["valkey"]["healthcheck"]["test"][1]
    asked = asked.replace("valkey-cli", f"{program('valkey-cli', 'redis-cli')} -p {composed.port}")
    assert subprocess.run(["sh", "-c", asked]).returncode == 0
    composed.store.kill()
    composed.store.wait()
    assert subprocess.run(["sh", "-c", asked], stderr=subprocess.DEVNULL).returncode == 1
    said = (1, f"{composed.endpoint} says that it is NOT_SERVING\n")
    soon(lambda: health(composed.endpoint) == said, "the worker that is asked says that it is not well")
    assert "does not answer: UNAVAILABLE" in health(f"127.0.0.1:{free_port()}")[1]
