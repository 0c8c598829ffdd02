"""A store as an earlier commit's aggregator leaves it behind, as text: what tests/golden/test_golden_stores.py reads.

python -m tools.earlier_store d4b1441 > tests/golden/store_d4b1441.json

The code of that commit is unpacked into a directory of its own and runs there, with the libraries of today: it serves
a collection, takes batches whose sums are known, folds most of them, and is killed while the last ones wait. Then its
own store is started again, and every key is written down. What is made anew differs in its day and in random bytes.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = """\
[collection]
name = "earlier"
epoch = "1d"
owner = "o"
[budget]
epoch = 9
[segments]
lane = ["a", "b"]
[metrics.open]
kind = "boolean"
description = "It was opened"
epsilon = 1
[metrics.theme]
kind = "category"
description = "The theme"
values = ["a", "b", "c", "d", "e"]
epsilon = 1
mechanism = "randomized_response"
"""
FOLDED, WAITING = 30, 10
"""Batches that are folded into the counters, and that wait."""
_SIZES = 2, 5
_FOLD_SECONDS = 5.0
_WRITE = "--write"


def made(commit: str) -> str:
    """The store that a commit's code writes, as JSON."""
    with tempfile.TemporaryDirectory() as directory:
        room = Path(directory)
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(room / "code", filter="data")
        code = room / "code"
        script = tomllib.loads((code / "aggregator/pyproject.toml").read_text())["project"]["scripts"]["deniable"]
        there = os.environ | {"PYTHONPATH": f"{code / 'client'}{os.pathsep}{code / 'aggregator'}"}
        asked = [sys.executable, "-P", __file__, _WRITE, script, str(room)]
        told = subprocess.run(asked, env=there, cwd=room, capture_output=True, text=True, check=True).stdout
    return json.dumps({"commit": commit, **json.loads(told)}, indent=1) + "\n"


def _batches(digest: int, epoch: int, number: int, draw: random.Random) -> list[Any]:
    from deniable.v1.report_service_pb2 import SubmitReportsRequest

    found = []
    for _ in range(number):
        rows = struct.pack("<2Q", *(column << 48 | draw.randrange(size) for column, size in enumerate(_SIZES)))
        own = SubmitReportsRequest(batch_id=draw.randbytes(16), collection_digest=digest, epoch=epoch, rows=rows)
        own.segment = draw.randrange(2)
        found.append(own)
    return found


def _write(script: str, room: Path) -> None:
    """Be the earlier code: serve, count, be killed, and say what is in the store."""
    import grpc

    from deniable import Collection
    from deniable.v1.report_service_pb2_grpc import ReportServiceStub

    file, data = room / "earlier.toml", room / "data"
    file.write_text(COLLECTION)
    collection = Collection.load(file)
    epoch = int(time.time() // 86_400)
    batches = _batches(collection.digest, epoch, FOLDED + WAITING, random.Random(1))
    module, _, name = script.partition(":")
    command = f"import sys\nfrom {module} import {name}\nsys.exit({name}())"
    where = ["--data", str(data), "--listen", "127.0.0.1:0"]
    serve = subprocess.Popen(
        [sys.executable, "-P", "-c", command, "serve", str(file), *where], stdout=subprocess.PIPE, text=True
    )
    assert serve.stdout
    endpoint = serve.stdout.readline().rpartition(" on ")[2].split()[0]
    with grpc.insecure_channel(endpoint) as channel:
        service = ReportServiceStub(channel)
        for each in batches[:FOLDED]:
            service.SubmitReports(each)
        time.sleep(_FOLD_SECONDS)
        for each in batches[FOLDED:]:
            service.SubmitReports(each)
        serve.kill()
        serve.wait()
    sums: dict[str, Counter[int]] = {}
    for each in batches:
        for column, row in enumerate(struct.unpack("<2Q", each.rows)):
            sums.setdefault(f"{column} {each.segment}", Counter())[row & 0xFFFF] += 1
    said = {
        "collection": COLLECTION,
        "digest": collection.digest,
        "epoch": epoch,
        "sums": {name: [own[at] for at in range(_SIZES[int(name[0])])] for name, own in sorted(sums.items())},
        "batches": [each.SerializeToString().hex() for each in (batches[0], batches[FOLDED - 1], batches[-1])],
        "keys": asyncio.run(_keys(data)),
    }
    print(json.dumps(said))


async def _keys(data: Path) -> dict[str, Any]:
    from redis import Redis

    from deniable_aggregator.store import EmbeddedStore

    embedded = EmbeddedStore(data)
    await embedded.start()
    try:
        with Redis.from_url(embedded.url) as server:
            found = {name.decode(): _value(server, name) for name in sorted(server.keys())}
    finally:
        await embedded.stop()
    waiting = [own for kind, own in found.values() if kind == "list"]
    assert waiting, "nothing waits to be folded: make it again"
    return found


def _value(server: Any, name: bytes) -> tuple[str, Any]:
    kind = server.type(name).decode()
    if kind == "string":
        return kind, server.get(name).hex()
    if kind == "set":
        return kind, sorted(each.hex() for each in server.smembers(name))
    assert kind == "list", f"{name!r} is a {kind}"
    return kind, [each.hex() for each in server.lrange(name, 0, -1)]


if __name__ == "__main__":
    if sys.argv[1] == _WRITE:
        _write(sys.argv[2], Path(sys.argv[3]))
    else:
        print(made(sys.argv[1]), end="")
