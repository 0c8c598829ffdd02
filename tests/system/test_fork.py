"""Forks: a child neither hangs nor repeats the parent's noise nor sends what is the parent's, and both go on.

The programs run in processes of their own: pytest's has threads and gRPC of its own.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from deniable import Collection
from deniable.device.ledger import read
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.commands import EDITOR
from support.endpoints import Endpoint, answering, lying
from support.waiting import PATIENCE

HEAD = """
import os, sys, threading, time
import deniable
collection, endpoint, state = deniable.Collection.load(sys.argv[1]), sys.argv[2], sys.argv[3]
begun = time.monotonic()
settings = deniable.Settings(
    write_behind=0.01, leeway=0.0, clock=lambda: 1e9 + (time.monotonic() - begun) * SPEED * 3600
)
def client(state=state):
    return deniable.Client(
        collection, endpoint=endpoint, state=state, consent=deniable.Consent.GRANTED,
        segment={"platform": "linux"}, settings=settings, strict=True,
    )
def ended(pid, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hangs"
"""


def collection_of(state: Path) -> Path:
    """The example's collection with epochs of an hour, beside a device's file."""
    path = state.with_name("hourly.toml")
    path.write_text(EDITOR.read_text().replace('epoch = "1d"', 'epoch = "1h"'))
    return path


def run(program: str, endpoint: Endpoint, state: Path, speed: float = 0.0) -> str:
    """What a program prints; it must end well and say nothing on its standard error."""
    command = [sys.executable, "-c", (HEAD + program).replace("SPEED", str(speed)).replace("PATIENCE", str(PATIENCE))]
    ran = subprocess.run(
        [*command, collection_of(state), endpoint.address, state], capture_output=True, text=True, timeout=PATIENCE
    )
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stderr.splitlines() if not line.startswith("deniable: flush: ")] == []
    return ran.stdout


def arrived(endpoint: Endpoint) -> list[SubmitReportsRequest]:
    """Every batch, once."""
    batches = {request.batch_id: request for request in map(SubmitReportsRequest.FromString, endpoint.requests)}
    return list(batches.values())


def answers(batches: list[SubmitReportsRequest]) -> Counter[tuple[str, int]]:
    """How often each metric was answered for each epoch."""
    columns = Collection.load(EDITOR).columns
    return Counter(
        (columns[row >> 48].metric, batch.epoch)
        for batch in batches
        for (row,) in struct.iter_unpack("<Q", batch.rows)
    )


UNDER_LOAD = """
device = client()
def load():
    while True:
        device.record("dark_mode", True)
        device.record("session_minutes", 1.0)
        time.sleep(0.001)
for _ in range(2):
    threading.Thread(target=load, daemon=True).start()
def flushing():
    while True:
        device.flush(1.0)
        time.sleep(0.02)
threading.Thread(target=flushing, daemon=True).start()
outcomes, pids = {}, []
for number in range(FORKS):
    pid = os.fork()
    if pid == 0:
        device.record("browser", "edge")
        if number % 10:
            os._exit(0)  # in the middle of whatever its threads do
        sys.exit(0)  # with all that happens at an interpreter's exit
    pids.append(pid)
    while len(pids) > (10 if number < FORKS - 1 else 0):
        outcome = ended(pids.pop(0))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
print(outcomes)
"""


@pytest.mark.parametrize("forks", [120, pytest.param(500, marks=pytest.mark.deep)])
def test_forks_under_load_hang_nobody(tmp_path: Path, forks: int) -> None:
    """While the parent records, seals and uploads without pause, each of so many children records and ends well.

    Everything that arrives was charged, and nothing twice, whoever recorded it.
    """
    state = tmp_path / "device.db"
    with answering() as endpoint:
        printed = run(UNDER_LOAD.replace("FORKS", str(forks)), endpoint, state, speed=40.0)
    assert printed == f"{{0: {forks}}}\n"
    counted = answers(arrived(endpoint))
    assert set(counted.values()) == {1}
    assert {metric for metric, _ in counted} == {"dark_mode", "session_minutes", "browser"}
    charged = {(line.metric, line.start // 3600) for line in read(state)}
    assert counted.keys() <= charged


THREADS = """
device = client()
outcomes = []
def forking():
    for _ in range(20):
        device.record("session_minutes", 1.0)
        pid = os.fork()
        if pid == 0:
            device.record("dark_mode", True)
            os._exit(0)
        outcomes.append(ended(pid))
threads = [threading.Thread(target=forking) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert outcomes == [0] * 80, outcomes
assert device.flush(PATIENCE)
"""


def test_threads_that_fork_at_the_same_time_do_not_wait_for_each_other_for_ever(tmp_path: Path) -> None:
    """Four threads fork twenty times each; the client goes on."""
    with answering() as endpoint:
        run(THREADS, endpoint, tmp_path / "device.db")
    assert answers(arrived(endpoint))["session_minutes", 277777] == 1


BOTH = """
parent = client(state + ".parent")
parent.record("dark_mode", True)
assert parent.flush(PATIENCE), parent.status()
pids = []
for number in range(3):
    pid = os.fork()
    if pid == 0:
        child = client(f"{state}.{number}")
        child.record("dark_mode", True)
        assert child.flush(30.0), child.status()
        child.close()
        sys.exit(0)
    pids.append(pid)
parent.record("browser", "edge")
assert parent.flush(PATIENCE), parent.status()
assert [ended(pid, 40.0) for pid in pids] == [0] * 3
parent.close()
"""


def test_parent_and_children_upload_after_the_parent_has_begun_to(tmp_path: Path) -> None:
    """A child whose parent has used gRPC can not use it: it uploads all the same, and so does the parent."""
    with answering() as endpoint:
        run(BOTH, endpoint, tmp_path / "device.db")
    batches = arrived(endpoint)
    assert len(batches) == 5
    assert sum(answers(batches).values()) == 5


PREFORK = """
pids = []
device = client()
for number in range(3):
    pid = os.fork()
    if pid == 0:
        for _ in range(100):
            device.record("session_minutes", 1.0)
        assert "grpc" not in sys.modules
        device.close()
        sys.exit(0)
    pids.append(pid)
assert [ended(pid) for pid in pids] == [0] * 3
(minutes,) = device._state.run(lambda connection: connection.execute("SELECT state FROM raw").fetchone())
assert minutes == "300.0", minutes
assert device.flush(PATIENCE)
"""


def test_workers_of_a_server_share_what_the_master_has_made(tmp_path: Path) -> None:
    """A client made before the fork works in every worker: all record into one file, which is answered once."""
    with answering() as endpoint:
        run(PREFORK, endpoint, tmp_path / "device.db")
    assert sum(answers(arrived(endpoint)).values()) == 1


PARENTS = """
device = client()
device.record("session_minutes", 1000.0)
pid = os.fork()
if pid == 0:
    device.record("session_minutes", 1.0)
    device.close()
    sys.exit(0)
assert ended(pid) == 0
device.close()
import sqlite3
print(sqlite3.connect(state).execute("SELECT state FROM raw").fetchone()[0])
"""


def test_what_the_parent_has_recorded_is_written_once(tmp_path: Path) -> None:
    """A child does not write what its parent still has in memory."""
    with answering() as endpoint:
        printed = run(PARENTS.replace("write_behind=0.01", "write_behind=60"), endpoint, tmp_path / "device.db")
    assert printed.strip() == "1001.0"


HANDLERS = """
from deniable.wire.upload import _load_grpc
_load_grpc()
assert "GRPC_ENABLE_FORK_SUPPORT" not in os.environ
import grpc
connecting = threading.Event()
def call():
    with grpc.insecure_channel(endpoint) as channel:
        channel.subscribe(lambda state: state is grpc.ChannelConnectivity.CONNECTING and connecting.set())
        try:
            channel.unary_unary("/none")(b"", timeout=2.0)
        except grpc.RpcError:
            pass
thread = threading.Thread(target=call)
thread.start()
connecting.wait()
pid = os.fork()
if pid == 0:
    os._exit(0)
assert ended(pid) == 0
thread.join()
"""


def test_what_grpc_does_around_forks_is_switched_off(tmp_path: Path) -> None:
    """Its own handlers, which complain here and hang now and then, are not there; the environment is as it was."""
    with lying("silent") as address:
        run(HANDLERS, Endpoint(lambda *_: b"", address=address), tmp_path / "device.db")


NOISE = """
from deniable.randomness import word
word()
readers = []
for _ in range(8):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, b"".join(word().to_bytes(8, "little") for _ in range(500)))
        os._exit(0)
    os.close(write)
    readers.append(read)
own = [word() for _ in range(500)]
words = set(own)
for reader in readers:
    with open(reader, "rb") as pipe:
        data = pipe.read()
    assert len(data) == 4000
    words |= {int.from_bytes(data[place : place + 8], "little") for place in range(0, 4000, 8)}
assert len(words) == 500 * 9
"""


def test_noise_is_never_shared(tmp_path: Path) -> None:
    """Parent and eight children draw 4,500 words, and no two of them are the same."""
    with answering() as endpoint:
        run(NOISE, endpoint, tmp_path / "device.db")


ORPHAN = """
device = client(None)
device.record("dark_mode", True)
pid = os.fork()
if pid == 0:
    for _ in range(100):
        device.record("browser", "edge")
    assert "collects nothing" in device.status().trouble
    assert device.ledger() == []
    device.close()
    sys.exit(0)
assert ended(pid) == 0
assert device.flush(PATIENCE)
assert [line.metric for line in device.ledger()] == ["dark_mode"]
device.close()
"""


def test_without_a_file_a_child_collects_nothing(tmp_path: Path) -> None:
    """It could not know what its parent spends; the parent goes on."""
    with answering() as endpoint:
        run(ORPHAN, endpoint, tmp_path / "device.db")
    assert sum(answers(arrived(endpoint)).values()) == 1


MULTIPROCESSING = """
import multiprocessing
device = client()
def work(number):
    own = device if number is None else client()
    own.record("session_minutes", 1.0)
    # and ends without a word: no close, no flush
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(number,)) for number in (None, 1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0, worker.exitcode
    import sqlite3
    print(sqlite3.connect(state).execute("SELECT state FROM raw").fetchone()[0])
"""


def test_processes_of_multiprocessing_lose_nothing_at_their_end(tmp_path: Path) -> None:
    """They end without atexit; what they recorded a moment before is written all the same."""
    with answering() as endpoint:
        program = MULTIPROCESSING.replace("write_behind=0.01", "write_behind=60")
        assert run(program, endpoint, tmp_path / "device.db").strip() == "3.0"


SPAWN = (
    HEAD
    + """
def work():
    device = client()
    device.record("session_minutes", 1.0)
if __name__ == "__main__":
    import multiprocessing
    device = client()
    device.record("session_minutes", 1.0)
    context = multiprocessing.get_context(sys.argv[4])
    workers = [context.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0, worker.exitcode
    assert device.flush(PATIENCE)
"""
)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_are_spawned_work_like_any_other(tmp_path: Path, method: str) -> None:
    """Each makes a client of its own on the same file: three processes, one report."""
    program = tmp_path / "application.py"
    program.write_text(SPAWN.replace("SPEED", "0").replace("PATIENCE", str(PATIENCE)))
    with answering() as endpoint:
        ran = subprocess.run(
            [sys.executable, program, collection_of(program), endpoint.address, tmp_path / "device.db", method],
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    assert sum(answers(arrived(endpoint)).values()) == 1
