"""The doctor finds what was planted, by the look that is for it alone, and nothing where nothing is wrong."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable_aggregator.doctor import CHECKS, Subject, examine
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.server import Settings
from doctor import faults
from doctor.faults import TOKEN, Deployment, issue
from support.commands import EDITOR, deniable, serving
from support.ports import free_port


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """All that an aggregator needs, as it should be; none runs yet."""
    room = tmp_path / "deployment"
    (room / "collections").mkdir(parents=True)
    (room / "collections" / "editor.toml").write_bytes(EDITOR.read_bytes())
    issue(room, "server")
    (room / "tokens").write_text(TOKEN)
    for name in ("server.key", "tokens"):
        (room / name).chmod(0o600)
    access = Access(room / "server.pem", room / "server.key", None, room / "tokens")
    settings = Settings(listen="127.0.0.1:0", data_dir=room / "data", access=access)
    with ExitStack() as leaving:
        subject = Subject(settings, (room / "collections",), page="127.0.0.1:0", collector="http://127.0.0.1:4317")
        yield Deployment(room, leaving, settings, subject)


FAULTS: list[tuple[Callable[[Deployment], None], set[str], str]] = [
    (faults.no_certificate, {"certificate"}, "there is nothing of that name"),
    (faults.another_key, {"certificate"}, "the key is not the certificate's"),
    (faults.expired, {"certificate's days"}, "has expired on"),
    (faults.expires_soon, {"certificate's days"}, "in 4 days"),
    (faults.another_name, {"certificate's names"}, "is for old.example.org, and devices reach localhost"),
    (faults.an_rsa_key, {"certificate's kind"}, "is RSA"),
    (faults.a_key_for_all, {"private key"}, "can be read or written by others"),
    (faults.tokens_for_all, {"file of tokens"}, "can be read or written by others"),
    (faults.a_line_that_is_none, {"tokens"}, "line 2: takes report or read"),
    (faults.no_token, {"tokens' days"}, "no token to report with"),
    (faults.an_expired_token, {"tokens' days"}, "has expired"),
    (faults.a_token_of_nothing, {"collections' names"}, "writer, which is not served"),
    (faults.a_broken_collection, {"collections"}, "editor.toml"),
    (faults.no_collection, {"collections"}, "there is no collection"),
    (faults.two_versions_alike, {"collections"}, "give the newer one a greater number"),
    (faults.a_metric_that_ends, {"collections' days"}, "ends on"),
    (
        faults.a_version_left_out,
        {"collections' versions"},
        "(0000000000000007) in 1 epoch, and its file is not served",
    ),
    (faults.a_taken_port, {"port"}, "it is no such aggregator"),
    (faults.a_taken_page, {"page's port"}, "no page answers there"),
    (faults.a_page_for_all, {"who can reach it"}, "from other machines"),
    (faults.in_the_clear, {"who can reach it"}, "in the clear"),
    (faults.an_open_directory, {"data directory"}, "open to others"),
    (faults.a_directory_of_others, {"data directory"}, "no aggregator's (thesis.tex)"),
    (faults.no_directory, {"data directory"}, "is no directory"),
    (faults.a_full_disk, {"disk"}, "MiB left of 1"),
    (faults.no_inodes, {"disk"}, "inodes for"),
    (faults.no_store, {"store"}, "onnect"),
    (faults.a_store_of_a_newer_release, {"store"}, "newer release"),
    (faults.other_shards, {"store"}, "begun with 1 shards"),
    (faults.a_clock_that_is_off, {"store's clock"}, "300 seconds behind"),
    (faults.evicting, {"store's evictions"}, "allkeys-lru"),
    (faults.evicted, {"store's evictions"}, "thrown"),
    (faults.full, {"store's memory"}, "of the memory that it may have"),
    (faults.no_file, {"store"}, "set appendonly yes"),
    (faults.a_slow_file, {"store's file"}, "everysec"),
    (faults.no_replicas, {"store's replicas"}, "0 replicas, and 1 have to"),
    (faults.a_damaged_counter, {"folding"}, "shard 0 can not be folded"),
    (faults.nobody_there, {"endpoint"}, "UNAVAILABLE"),
    (faults.the_clear_where_tls_is_expected, {"endpoint"}, "UNAVAILABLE"),
    (faults.other_files, {"what is served"}, "writer"),
]


def test_nothing_is_found_where_nothing_is_wrong(deployment: Deployment) -> None:
    """Neither before anything runs, nor with a store, nor while it serves; each look is taken once at least."""
    taken: set[str] = set()
    for prepare in (lambda: None, deployment.store, deployment.runs):
        prepare()
        found = asyncio.run(examine(deployment.subject))
        assert (found.findings, found.unseen) == ([], {})
        taken |= set(found.well)
        deployment.subject.settings = deployment.settings
    assert {check.name for check in CHECKS} - taken <= {"certificate's names", "store's replicas"}


@pytest.mark.parametrize(("plant", "checks", "words"), FAULTS, ids=[plant.__name__ for plant, *_ in FAULTS])
def test_what_is_planted_is_found(
    deployment: Deployment, plant: Callable[[Deployment], None], checks: set[str], words: str
) -> None:
    """By the look that is for it, in words that name it; each says what to do."""
    plant(deployment)
    found = asyncio.run(examine(deployment.subject))
    assert {each.check for each in found.findings} == checks, found
    assert words in " ".join(each.what for each in found.findings), found
    assert all(each.do for each in found.findings)


def test_a_page_that_speaks_tls_is_looked_at(deployment: Deployment) -> None:
    """As it is served to other machines: by its own certificate, and by no other that stands in its place."""
    page = f"0.0.0.0:{free_port()}"
    own, others = deployment.certificate, deployment.room / "other.pem"
    tls = ("--tls-cert", own, "--tls-key", deployment.key, "--tokens", deployment.tokens, "--http", page)
    reading = deployment.room / "reading"
    reading.write_text("reads all\n")
    deployment.tokens.write_text(f"{TOKEN}read {hashlib.sha256(b'reads all').hexdigest()}\n")
    issue(deployment.room, "other")
    with serving(deployment.room / "data", deployment.collection.parent, *tls) as given:
        there = ("--endpoint", f"localhost:{given.rpartition(':')[2]}", "--tls-ca", own, "--token-file", reading)
        asked = (
            "doctor",
            deployment.collection.parent,
            "--data",
            deployment.room / "data",
            "--listen",
            given,
            *there,
        )
        well = deniable(*asked, *tls)
        assert (well.returncode, well.stderr) == (0, ""), well
        assert "could not be looked at" not in well.stdout
        other_key = deployment.room / "other.key"
        stands_in = deniable(*asked, *tls, "--tls-cert", others, "--tls-key", other_key)
        assert f"the page at {page} does not answer: " in stands_in.stdout
        assert "CERTIFICATE_VERIFY_FAILED" in stands_in.stdout
        assert stands_in.returncode != 0


def test_who_does_not_answer_is_waited_for_once(deployment: Deployment) -> None:
    """Of four looks that ask at the page's address one waits as for a page; it also asks for a certificate."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.setblocking(False)
        deployment.subject.page = f"127.0.0.1:{taken.getsockname()[1]}"
        deployment.subject.patience = 0.2
        asyncio.run(examine(deployment.subject))
        asked = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                taken.accept()[0].close()
                asked += 1
    assert asked == 2


def test_every_look_finds_something_that_is_planted() -> None:
    """Or it is not known whether it can."""
    found = set.union(*(checks for _, checks, _ in FAULTS))
    assert {check.name for check in CHECKS} - found == {"limit of files", "aggregator's clock", "OpenTelemetry"}


def test_a_low_limit_of_files_is_found(deployment: Deployment) -> None:
    """As the command is limited, so would be what it starts."""
    told = deniable("doctor", deployment.collection, "--data", deployment.room / "data", "--http", "off",
                    "--listen", "127.0.0.1:0", most=(512, 512))  # fmt: skip
    assert told.returncode == 1
    assert "limit of files: a process may have 512 files" in told.stdout


def test_the_command_tells_by_its_exit_code(deployment: Deployment) -> None:
    """0 where all is well, 1 where something is wrong, 2 where something could not be looked at; as JSON, too. It is
    told as deniable serve is."""
    file = deployment.room / "serve.toml"
    file.write_text(
        'collections = ["collections"]\nlisten = "127.0.0.1:0"\nhttp = "off"\ndata = "data"\n'
        'tls_cert = "server.pem"\ntls_key = "server.key"\ntokens = "tokens"\n'
    )
    well = deniable("doctor", "--config", file)
    assert (well.returncode, well.stderr) == (0, ""), well
    assert "0 findings" in well.stdout
    deployment.key.chmod(0o640)  # of root's and the serving account's group, as units of systemd have it
    assert deniable("doctor", "--config", file).returncode == 0
    deployment.key.chmod(0o644)
    wrong = deniable("doctor", "--json", "--config", file)
    assert wrong.returncode == 1
    (finding,) = json.loads(wrong.stdout)["findings"]
    assert finding["check"] == "private key"
    assert finding["do"].startswith(f"chmod 640 {deployment.key}, its group being")
    deployment.key.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as page:
        address = f"127.0.0.1:{page.getsockname()[1]}"
    unseen = deniable("doctor", "--config", file, "--endpoint", "127.0.0.1:1", "--http", address)
    assert unseen.returncode == 1
    assert "could not be looked at: the page at" in unseen.stdout
    assert deniable("doctor", "--config", file, "--tokens", deployment.room / "none").returncode == 1
