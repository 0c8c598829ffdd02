"""What was found in the aggregator and its statistics, as small programs; see `tools/probes_device.py`."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from tools.probes_device import BOOLEAN, Seen, collection, room

PATIENCE = 60.0
"""Seconds that anything may take; what should take long takes longer."""
CALM = 5.0
"""Seconds within which what is cheap has been done on any machine."""
_PATIENT = 20.0
"""Seconds that a device tries."""
_SILENT = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) for _ in range(550)]
print(flush=True)
while True:
    for place, one in enumerate(held):
        one.settimeout(0.002)
        try:
            if one.recv(4096):
                continue
        except TimeoutError:
            continue
        except OSError:
            pass
        one.close()
        try:
            held[place] = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        except OSError:
            held[place] = socket.socket()
"""
"""550 connections that say nothing, and come again when they are closed."""


def windows(here: Path) -> Seen:
    """A number by one bit at epsilon 1: 300 devices with constant values over thirty epochs, two hundred times."""
    import numpy as np

    lines = 'kind = "number"\nrange = [0, 1]\nstep = 1\nmechanism = "one_bit"\nepsilon = 1'
    asked = collection(lines).metrics["m0"]
    windowed = room("deniable_aggregator.analysis.windows", "deniable_aggregator.windows").windowed
    target = room("deniable_aggregator.answers").Target.POPULATION
    draws, p = np.random.default_rng(4), asked.columns[0].mechanism.p
    held, samples, share = 0, 200, 0.4
    for _ in range(samples):
        high = draws.binomial(300, share)
        told = draws.binomial(high, float(p), 30) + draws.binomial(300 - high, float(1 - p), 30)
        found = windowed(asked, [[np.array([300 - one, one])] for one in told.tolist()], 0.95, target)
        row = found.estimate.rows[0]
        held += row.low <= share <= row.high
    del here
    return Seen(f"{held / samples:.0%} of 95% intervals hold", held / samples >= 0.9)


def counts(here: Path) -> Seen:
    """A hundred devices, of which one counts 10,000: is the estimate within its own interval?"""
    from deniable import CollectionError, Report
    from deniable_aggregator import estimate

    try:
        asked = collection('kind = "count"\nprivacy_unit = "event"\nepsilon = 1').metrics["m0"]
    except CollectionError:
        asked = collection('kind = "count"\nunit = "event"\nepsilon = 1').metrics["m0"]
    column, outside = asked.columns[0], 0
    for _ in range(20):
        reports = [
            Report(column.number, column.mechanism.randomize(10_000 if number == 0 else number % 7))
            for number in range(100)
        ]
        row = estimate(asked, reports).rows[0]
        outside += not row.low <= row.value <= row.high
    del here
    return Seen(f"{outside} of 20 intervals exclude their own estimate", not outside)


def leverage(here: Path) -> Seen:
    """A number by Laplace noise at epsilon 1: how far the farthest report lies from the range, in ranges."""
    from deniable import Report
    from deniable_aggregator import estimate

    asked = collection('kind = "number"\nrange = [0, 480]\nstep = 1\nmechanism = "laplace"\nepsilon = 1').metrics[
        "m0"
    ]
    column = asked.columns[0]
    row = estimate(asked, [Report(column.number, column.shape.size - 1)]).rows[0]
    ranges = (row.value or 0.0) / 480
    del here
    return Seen(f"one fake moves a mean by {ranges:.1f} ranges / n", ranges <= 4)


class Served:
    """An aggregator, as its command serves a collection."""

    def __init__(self, here: Path, text: str, older: str = "") -> None:
        with (
            closing(socket.create_server(("127.0.0.1", 0))) as one,
            closing(socket.create_server(("127.0.0.1", 0))) as two,
        ):
            self.grpc, self.http = one.getsockname()[1], two.getsockname()[1]
        self.told = b""
        (here / "metrics.toml").write_text(text)
        command: list[str | Path] = [
            Path(sys.executable).parent / "deniable",
            "serve",
            here / "metrics.toml",
            "--data",
            here / "data",
        ]
        if older:
            (here / "older.toml").write_text(older)
            command.insert(3, here / "older.toml")
        command += ["--listen", f"127.0.0.1:{self.grpc}", "--http", f"127.0.0.1:{self.http}", "--grace", "1"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not self._is_there() and time.monotonic() < end:
            time.sleep(0.2)

    def _is_there(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.http), CALM)):
            return self.call("EstimateService/ListCollections", b"", CALM) == "OK"
        return False

    def call(self, method: str, message: bytes, patience: float) -> str:
        """How a call ends, on a connection of its own."""
        import grpc

        options = (("grpc.use_local_subchannel_pool", 1),)
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc}", options) as channel:
            try:
                ask: Any = channel.unary_unary(f"/deniable.v1.{method}")
                self.told = ask(message, timeout=patience)
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    def get(self, path: str, host: str = "localhost") -> int:
        """The status of an answer to a GET."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)) as connection:
            connection.putrequest("GET", path, skip_host=True)
            connection.putheader("Host", host)
            connection.endheaders()
            answer = connection.getresponse()
            self.told = answer.read()
            return answer.status

    @property
    def megabytes(self) -> float:
        """The memory of the process and of all that it has begun, added up."""
        parents: dict[int, int] = {}
        memory: dict[int, float] = {}
        for place in Path("/proc").glob("[0-9]*/status"):
            with suppress(OSError, KeyError):
                lines = dict(line.split(":", 1) for line in place.read_text().splitlines())
                parents[int(lines["Pid"])] = int(lines["PPid"])
                memory[int(lines["Pid"])] = float(lines["VmRSS"].split()[0]) / 1024
        ours = {self._process.pid}
        while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
            ours |= more
        return sum(memory.get(pid, 0.0) for pid in ours)

    def end(self) -> None:
        """End it, and its store."""
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CALM)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextmanager
def served(here: Path, *metrics: str, segments: str = "") -> Iterator[Served]:
    """An aggregator for some metrics."""
    head = '[collection]\nname = "found"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 100\n'
    tables = (f'[metrics.m{number}]\ndescription = "d"\n{lines}\n' for number, lines in enumerate(metrics))
    running = Served(here, f"{head}{segments}\n{''.join(tables)}")
    try:
        yield running
    finally:
        running.end()


def refused_calls(here: Path) -> Seen:
    """Twenty messages of a megabyte of empty wide rows, of an unknown collection: what is left of them."""
    with served(here, BOOLEAN) as aggregator:
        aggregator.call("ReportService/SubmitReports", b"\xff", CALM)
        before = aggregator.megabytes
        for _ in range(20):
            aggregator.call("ReportService/SubmitReports", b"\x32\x00" * 500_000, PATIENCE)
        time.sleep(1.0)
        grown = aggregator.megabytes - before
    return Seen(f"{grown:.0f} MB are left of 20 refused calls", grown < 100)


def great_question(here: Path) -> Seen:
    """A few bytes that ask about 3,660 epochs of 20 metrics in 256 segments; and a device that calls after them."""
    import threading

    values = json.dumps([f"v{number}" for number in range(16)])
    segments = f"[segments]\na = {values}\nb = {values}\n"
    with served(here, *[BOOLEAN] * 20, segments=segments) as aggregator:
        question = b"\x0a\x05found\x12\x03\x10" + bytes([3660 & 127 | 128, 3660 >> 7])
        ended: list[str] = []
        asking = threading.Thread(
            target=lambda: ended.append(aggregator.call("EstimateService/ListEstimates", question, CALM))
        )
        asking.start()
        asking.join()
        later = aggregator.call("ReportService/SubmitReports", b"\xff", CALM)
    how = {"DEADLINE_EXCEEDED": f"not answered in {CALM:g} s"}.get(ended[0], f"refused: {ended[0]}")
    behind = " and holds up a device" if later == "DEADLINE_EXCEEDED" else ""
    return Seen(how + behind, ended[0] not in {"DEADLINE_EXCEEDED", "OK"} and later == "INVALID_ARGUMENT")


def silent_connections(here: Path) -> Seen:
    """1,100 connections that say nothing and come again, where a process may have 1,024 files: is a device heard?"""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    with served(here, BOOLEAN) as aggregator:
        command = [sys.executable, "-c", _SILENT, str(aggregator.grpc)]
        silent = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            for each in silent:
                assert each.stdout
                each.stdout.readline()
            waited = [heard_after(aggregator) for _ in range(3)]
        finally:
            for each in silent:
                each.kill()
                each.wait()
    heard = [seconds for seconds in waited if seconds < _PATIENT]
    return Seen(f"{len(heard)} of 3 devices are heard within {_PATIENT:g} s", len(heard) == 3)


def heard_after(aggregator: Served) -> float:
    """For how many seconds a device tries, on one connection after the other, until it is heard."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < _PATIENT:
        if aggregator.call("ReportService/SubmitReports", b"\xff", CALM) == "INVALID_ARGUMENT":
            return waited
        time.sleep(0.1)
    return waited


def odd_requests(here: Path) -> Seen:
    """`Host: [`, and an epoch of 2^32 - 1."""
    with served(here, BOOLEAN) as aggregator:
        said = [
            aggregator.get("/api/v1/collections", host="["),
            aggregator.get("/api/v1/collections/found/estimates?last_epoch=4294967295"),
        ]
    return Seen(" and ".join(map(str, said)), max(said) < 500)


def unit(here: Path) -> Seen:
    """The unit of a count of which no unit is said."""
    with served(here, 'kind = "count"\nmax = 50\nepsilon = 1') as aggregator:
        aggregator.call("EstimateService/ListCollections", b"", PATIENCE)
        from deniable.v1.estimate_service_pb2 import ListCollectionsResponse

        (about,) = ListCollectionsResponse.FromString(aggregator.told).collections
        told = about.metrics[0].unit
    return Seen(f"counted in {told!r}", told == "")


def largest_row(here: Path) -> Seen:
    """The largest row of an ordinal answer: a mean rank beside shares."""
    with served(here, 'kind = "ordinal"\nvalues = ["a", "b", "c"]\nepsilon = 1') as aggregator:
        aggregator.get("/api/v1/collections/found/estimates?rows=1")
        found = json.loads(aggregator.told)
        (only,) = found["estimates"]
        shown = only.get("rows") or [row for series in only["series"] for row in series["rows"]]
        keyed = all("key" in row for row in shown)
    return Seen(
        f"{len(shown)} row(s) of rank and shares, {'with' if keyed else 'without'} keys", keyed and len(shown) > 1
    )


def words_of_the_page(here: Path) -> Seen:
    """What is said of an ordinal that is to be randomised twice."""
    from deniable import CollectionError

    said = "nothing"
    try:
        collection(
            'kind = "ordinal"\nvalues = ["a", "b", "c"]\nepsilon = 2\nmemoize = true\ninstantaneous_epsilon = 1'
        )
    except CollectionError as error:
        said = str(error)
    del here
    return Seen(
        "“a ordinal has no second randomisation”" if "a ordinal" in said else "it has one", "a ordinal" not in said
    )


def loaded_for_ingest(here: Path) -> Seen:
    """What `deniable_aggregator.ingest` loads that it does not need."""
    program = (
        "import sys, deniable_aggregator.ingest\n"
        "rooms = 'deniable_aggregator.estimators', 'deniable_aggregator.answers'\n"
        "print(sum(name.startswith(rooms) for name in sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=here
    ).stdout
    return Seen(f"{int(told)} modules of estimators and answers are loaded", int(told) == 0)


def lists_of_mechanisms(here: Path) -> Seen:
    """In how many files of the product, besides its own, projective geometry is named."""
    import deniable
    import deniable_aggregator

    rooms = [Path(str(package.__file__)).parent for package in (deniable, deniable_aggregator)]
    own = "projective_geometry.py"
    found = [path for each in rooms for path in each.rglob("*.py") if path.name != own and named(path)]
    del here
    return Seen(f"named in {len(found)} files besides its own", len(found) <= 4)


def named(path: Path) -> bool:
    """Whether a file names the mechanism or its class."""
    text = path.read_text(encoding="utf-8")
    return "projective_geometry" in text or "ProjectiveGeometry" in text


def flat_modules(here: Path) -> Seen:
    """How many modules of the aggregator lie beside each other, in no room."""
    import deniable
    import deniable_aggregator

    package = Path(str(deniable_aggregator.__file__)).parent
    found = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    longest = len((Path(str(deniable.__file__)).parent / "client.py").read_text().splitlines())
    del here
    return Seen(f"{len(found)} modules in no room; client.py has {longest} lines", len(found) <= 2 and longest < 400)


def papers(here: Path) -> Seen:
    """What a newcomer looks for first."""
    del here
    wanted = ("CONTRIBUTING.md", "CHANGELOG.md", "docs/glossary.md", "LICENSE", "tests/docs/test_readmes.py")
    found = [name for name in wanted if (tree_of() / name).exists()]
    return Seen(f"{len(found)} of {len(wanted)} are there", len(found) == len(wanted))


def late_store(here: Path) -> Seen:
    """The test of lost replies, where the store is killed once more just before it is looked at."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "late_store", "-m", "not deep"]
    command += ["--basetemp", str(here / "t"), "-k", "replies_may_be_lost", "tests/system/test_exactly_once.py"]
    beside = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "CI": "true"}
    ended = subprocess.run(command, cwd=tree_of(), capture_output=True, text=True, env=beside, check=False)
    refused = "StoreUnavailable" in ended.stdout
    told = "passes" if ended.returncode == 0 else f"fails{': the store is not there yet' if refused else ''}"
    return Seen(told, ended.returncode == 0)


def tree_of() -> Path:
    """Where the code is that runs."""
    import deniable

    return Path(str(deniable.__file__)).resolve().parents[2]
