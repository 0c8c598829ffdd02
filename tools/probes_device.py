# ruff: noqa: SLF001 - what is public does not end epochs at will
"""What was found on the device, as small programs that run on the code of any day.

Each says what it sees, and whether that is as it should be. `tools/findings.py` runs them, each in a process and a
directory of its own, on the code of the day on which a fault was found and on the code as it is. Rooms have moved
since then: one is taken by the first of its names that is there.
"""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

__all__ = ["BOOLEAN", "Seen", "collection", "room"]

DAY = 86400
MORNING = 20_000 * DAY + 100.0


class Seen(NamedTuple):
    """What a probe has seen."""

    figure: str
    """In words."""
    holds: bool
    """Whether it is as it should be."""


def room(*names: str) -> Any:
    """The first of these modules that is there."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(" or ".join(names))


def collection(
    *metrics: str, name: str = "found", budget: str = "epoch = 100", segments: str = "", description: str = "d"
) -> Any:
    """A collection of metrics, each the lines of its table after the name."""
    import deniable

    text = f'[collection]\nname = "{name}"\nepoch = "1d"\nowner = "o"\n[budget]\n{budget}\n{segments}\n'
    for number, lines in enumerate(metrics):
        text += f'[metrics.m{number}]\ndescription = "{description}"\n{lines}\n'
    return deniable.Collection.loads(text)


BOOLEAN = 'kind = "boolean"\nepsilon = 1'


class Device:
    """A client with consent, whose epochs end when they are told to."""

    def __init__(self, path: str | Path, asked: Any, **settings: Any) -> None:
        import deniable

        self.now = MORNING
        made = deniable.Settings(clock=lambda: self.now, write_behind=3600.0, **settings)
        self.client = deniable.Client(asked, state=path, consent=deniable.Consent.GRANTED, settings=made)

    def answer(self, value: object = True, epochs: int = 1) -> None:
        """Answer the first metric in so many epochs."""
        for _ in range(epochs):
            self.client.record("m0", value)
            self.client._write(everything=True)
            self.now += DAY

    def answers(self) -> int:
        """How many lines of the ledger were paid for."""
        return sum(charge.epsilon > 0 for charge in self.client.ledger())


def sent(path: Path) -> list[bytes]:
    """The rows of the batches that wait in a state file."""
    from deniable.v1.report_service_pb2 import SubmitReportsRequest

    with sqlite3.connect(path) as connection:
        requests = [bytes(row[0]) for row in connection.execute("SELECT request FROM queue")]
    return [SubmitReportsRequest.FromString(request).rows for request in requests]


def remembered(here: Path) -> Seen:
    """A remembered answer of 48, over five epochs: of twenty devices, how many say the same every time."""
    values = json.dumps([f"v{number}" for number in range(48)])
    asked = collection(f'kind = "category"\nvalues = {values}\nepsilon = 1\nmemoize = true')
    same = 0
    for number in range(20):
        device = Device(here / f"{number}.db", asked)
        device.answer("v7", 5)
        same += len(set(sent(here / f"{number}.db"))) == 1
        device.client.close()
    return Seen(f"{same} of 20 devices send the same in each of five epochs", same <= 2)


def strange_file(here: Path) -> Seen:
    """Another program's database, given as a state file."""
    path = here / "app.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "PRAGMA user_version = 1; CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')"
        )
    connection.close()
    before = path.read_bytes()
    device = Device(path, collection(BOOLEAN))
    device.client.record("m0", True)
    device.client.close()
    same = path.exists() and path.read_bytes() == before
    left = sorted(each.name for each in here.iterdir())
    return Seen("left as it was" if same else f"replaced; there are {' and '.join(left)}", same)


def relative_path(here: Path) -> Seen:
    """A relative `state`, in forty directories: a ledger for each."""
    answers = 0
    for number in range(40):
        (here / str(number)).mkdir()
        os.chdir(here / str(number))
        try:
            device = Device("state.db", collection(BOOLEAN, budget="epoch = 2\nlifetime = 2"))
        except ValueError:
            continue
        device.answer()
        answers += device.answers()
        device.client.close()
    return Seen(f"{answers} answers in 40 directories, lifetime 2", answers <= 2)


def other_names(here: Path) -> Seen:
    """A collection that is renamed thirty times in a day, with a lifetime of two."""
    for number in range(30):
        device = Device(here / "s.db", collection(BOOLEAN, name=f"c{number}", budget="epoch = 2\nlifetime = 2"))
        device.answer()
        answers = device.answers()
        device.client.close()
    return Seen(f"{answers} answers, lifetime 2", answers <= 2)


def other_words(here: Path) -> Seen:
    """A remembered question whose description is lengthened by a dot thirty times, without a lifetime."""
    for number in range(30):
        asked = collection(f"{BOOLEAN}\nmemoize = true", description="." * (number + 1))
        device = Device(here / "s.db", asked)
        device.now += number * DAY
        device.answer()
        answered = device.answers()
        device.client.close()
    return Seen(f"{answered} fresh answers to 30 wordings", answered <= 4)


def damage(here: Path) -> Seen:
    """A state file that is damaged in every other epoch, thirty times, with a lifetime of two."""
    path, answers, now = here / "s.db", 0, MORNING
    for _ in range(30):
        device = Device(path, collection(BOOLEAN, budget="epoch = 2\nlifetime = 2"))
        device.now = now
        device.answer(epochs=2)
        answers += device.answers()
        now = device.now
        device.client.close()
        spoil(path)
    return Seen(f"{answers} answers, lifetime 2", answers <= 2)


def spoil(path: Path) -> None:
    """Damage a state file, and leave it what it is known by: what it begins with."""
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"damaged" * (len(whole) // 7))


def deltas(here: Path) -> Seen:
    """A vector with a delta of 10^-5, two hundred times; ten by themselves would be told of."""
    lines = 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l2"\ndelta = 1e-5\nfleet = 1000\nepsilon = 1'
    device = Device(here / "s.db", collection(lines, budget="epoch = 1"))
    device.answer([0.5, 0.5], 200)
    answers, delta = device.answers(), sum(getattr(each, "delta", 0.0) for each in device.client.ledger())
    device.client.close()
    return Seen(f"{answers} answers; deltas in the ledger: {delta:g}", answers <= 100 and delta > 0)


def copy_of_damage(here: Path) -> Seen:
    """A file that is damaged twice within an epoch: what was set aside first, and has a second name, is looked at."""
    path, first = here / "s.db", here / "first"
    for damage in (b"a secret value " * 500, b"damage " * 500):
        device = Device(path, collection(BOOLEAN))
        device.answer()
        path.write_bytes(path.read_bytes()[:100] + damage)
        device.now -= DAY
        device.client.status()
        device.client.close()
        if not first.exists():
            first.hardlink_to(here / "s.db.damaged")
    erased = b"secret" not in first.read_bytes()
    return Seen("the first copy is overwritten" if erased else "the first copy stays on the disk", erased)


def planted(here: Path) -> Seen:
    """A directory with a `json.py`, in which the process begins that uploads for a forked child."""
    import concurrent.futures

    import grpc

    marker = here / "executed"
    (here / "json.py").write_text(f"open({str(marker)!r}, 'a').write('x')\nraise ImportError\n")
    server = grpc.server(concurrent.futures.ThreadPoolExecutor())
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    apart = room("deniable.wire.apart", "deniable.upload")
    credentials = room("deniable.wire.credentials", "deniable.upload").Credentials()
    kind = getattr(apart, "Apart", None) or apart._Apart
    os.chdir(here)
    kind(f"127.0.0.1:{port}", credentials, 5.0).send(b"a batch")
    server.stop(None)
    ran = marker.exists()
    return Seen("a json.py that lies there is run" if ran else "nothing that lies there is run", not ran)


def timing(here: Path) -> Seen:
    """The instructions of five hundred answers: of a set, and by projective geometry."""
    named = json.dumps([f"v{number}" for number in range(13)])
    lines = (
        f'kind = "set"\nvalues = {named}\nmax_items = 5\nepsilon = 1',
        f'kind = "category"\nvalues = {named}\nepsilon = 2\nmechanism = "projective_geometry"',
    )
    asked = collection(*lines)
    randomness = room("deniable.randomness")
    said, random = [], Random(1)
    for name, values in (("m0", (["v1"], [f"v{each}" for each in range(5)])), ("m1", ("v1", "v12"))):
        metric, counts = asked.metrics[name], set()
        for _ in range(250):
            for value in values:
                column, chosen = metric.encode(metric.kind.check(value), iter([0] * 9).__next__)
                randomness._buffer[:] = [random.getrandbits(64) for _ in range(256)]
                counts.add(steps(lambda c=column, i=chosen: c.mechanism.randomize(i)))  # type: ignore[misc]
        said.append(len(counts))
    del here
    return Seen(f"{said[0]} lengths for a set, {said[1]} for projective geometry", said == [1, 1])


def steps(doing: Callable[[], object]) -> int:
    """How many instructions of our own something takes."""
    taken = [0]

    def step(frame: Any, event: str, _: Any) -> Any:
        frame.f_trace_opcodes = True
        taken[0] += event == "opcode" and frame.f_globals["__name__"].startswith("deniable")
        return step

    sys.settrace(step)
    try:
        doing()
    finally:
        sys.settrace(None)
    return taken[0]


def great_counts(here: Path) -> Seen:
    """Counts of events near 2^31, and the largest word that can be drawn."""
    count = room("deniable.kinds").Count(None, "event")
    epsilon = room("deniable.epsilon").Epsilon.of(1)
    columns = count.columns(epsilon, "auto")
    random, most = Random(4), (1 << 31) - 1
    near = [most - less for less in range(200)] + [random.randrange(most) for _ in range(3000)]
    words = (0, 1 << 63, (1 << 64) - 1)
    wrong = sum(any(count.encode(each, columns, lambda w=w: w) != (0, each) for w in words) for each in near)
    del here
    return Seen(f"{wrong} of {len(near)} can become one more or less", not wrong)


def alone(here: Path) -> Seen:
    """The person's own command, with the SDK alone."""
    import subprocess

    path = here / "s.db"
    device = Device(path, collection(BOOLEAN))
    device.answer()
    device.client.close()
    command = [sys.executable, "-m", "deniable", str(path), "ledger"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (ended.stderr.strip().splitlines() or [""])[-1]
    shown = ended.returncode == 0 and "epsilon" in ended.stdout
    return Seen("it is shown" if shown else last.partition(": ")[2][:60], shown)


def refusing(here: Path) -> Seen:
    """A server that is away for six epochs, and then takes what comes: how many batches share a connection."""
    import concurrent.futures
    from collections import Counter

    import grpc

    away, peers = threading.Event(), Counter[str]()

    def submit(_: bytes, context: Any) -> bytes:
        if not away.is_set():
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        peers[context.peer()] += 1
        return b""

    handler: Any = grpc.unary_unary_rpc_method_handler(submit)
    server = grpc.server(concurrent.futures.ThreadPoolExecutor())
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("deniable.v1.ReportService", {"SubmitReports": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    import deniable

    now = [MORNING]
    made = deniable.Settings(clock=lambda: now[0], write_behind=3600.0)
    client = deniable.Client(
        collection(BOOLEAN), endpoint=f"127.0.0.1:{port}", state=here / "s.db", consent=deniable.Consent.GRANTED,
        settings=made,
    )  # fmt: skip
    for _ in range(6):
        client.record("m0", True)
        for _ in range(8):
            now[0] += DAY / 8
            client._write()
            client._upload()
    away.set()
    for _ in range(200):
        now[0] += 600.0
        client._upload()
        if client.status().waiting == 0:
            break
    client.close()
    server.stop(None)
    most = max(peers.values(), default=0)
    return Seen(f"{most} of {sum(peers.values())} epochs on one connection", most == 1 and len(peers) >= 5)
