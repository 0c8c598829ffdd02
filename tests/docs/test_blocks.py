"""Every block of code on every page is run: here, or by a test that is named here. One that nobody runs is found.

words:
  block   fenced code with a language (see test_readmes.py, which runs those of the READMEs)
  way     how a block is run: one of the functions below, or the file that runs it
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pytest
from tools.first_hour import PAGES as HOUR
from tools.site_pages import pages

from deniable import Collection
from deniable.testing import TestClient
from deniable_aggregator import Reader
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.truth import Truth
from docs.test_readmes import READMES, Block, blocks
from support.collection_files import head, metric
from support.commands import COMMAND, EDITOR, ROOT, serving, told
from support.site import Running, running
from support.waiting import PATIENCE

Way = Callable[[Block, Running, Path], None]
WRITTEN = date(2026, 11, 19)
"""The day that pages take for today."""
MISSING = {
    "collection]": '[collection]\nname = "shown"\nepoch = "1d"\nowner = "telemetry@example.org"\n',
    "budget]": "[budget]\nepoch = 100\n",
}
"""What a part of a collection does not have."""
SOURCES = "".join(
    f'[metrics.{name}]\nkind = "category"\ndescription = "d"\nvalues = ["{first}", "{second}"]\nepsilon = 1\n'
    for name, first, second in (("theme", "dark", "light"), ("platform", "linux", "other"))
)
"""What joints on the pages are fed from."""
WHOLE = "".join(MISSING.values()) + SOURCES


def today(line: str) -> str:
    """A line with days as far from today as they are from the day of the page."""
    now = datetime.now(UTC).date()
    return re.sub(r"\b\d{4}-\d\d-\d\d\b", lambda day: str(now + (date.fromisoformat(day[0]) - WRITTEN)), line)


def asked(block: Block, aggregator: Running, _: Path) -> None:
    """Commands that ask an aggregator; each has an answer."""
    for line in block.code.splitlines():
        program, *rest = shlex.split(today(line), comments=True)
        assert program == "deniable", block.where
        found = told(*rest, "--endpoint", aggregator.endpoint)
        assert (found.returncode, found.stderr) == (0, ""), f"{block.where}: {line}: {found.stderr}"
        assert found.stdout.count("\n") > 2, line


def fetched(block: Block, aggregator: Running, _: Path) -> None:
    """What curl would fetch from the page's address."""
    (address,) = re.findall(r"'http://localhost:8471(.*)'", block.code)
    with urllib.request.urlopen(aggregator.url + address, timeout=PATIENCE) as found:
        assert found.status == 200
        assert b"dark_mode" in found.read()


def doubted(block: Block, _: Running, room: Path) -> None:
    """Commands that say of a day that it is not to be trusted, or is: two of them end a doubt, each its own way."""
    (room / "metrics.toml").write_text(WHOLE)
    with running(Collection.loads(WHOLE)) as served:
        where = {"metrics.toml": str(room / "metrics.toml"), "./data": str(served._directory / "data")}
        first, *others = [shlex.split(today(line), comments=True)[1:] for line in block.code.splitlines()]
        for words in (each for other in others for each in (first, other)):
            found = told(*(where.get(word, word) for word in words))
            assert (found.returncode, found.stderr) == (0, ""), f"{block.where}: {words}: {found.stderr}"


def let_in(block: Block, _: Running, room: Path) -> None:
    """Commands that make tokens, and one that reads with one of them."""
    *made, reading = block.code.splitlines()
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-ec", "\n".join(made)], cwd=room, env=os.environ | {"PATH": path}, check=True)
    with serving(room / "data", EDITOR, "--tokens", room / "tokens") as endpoint:
        named = {"telemetry.example.org:443": endpoint, "read.token": str(room / "read.token")}
        found = told(*(named.get(word, word) for word in shlex.split(reading)[1:]))
    assert (found.returncode, found.stderr) == (0, ""), found.stderr


def loaded(block: Block, _: Running, __: Path) -> None:
    """A collection; of a part of one the rest is made up."""
    text = block.code
    for table, more in MISSING.items():
        text += "" if f"[{table}" in text else more
    text += SOURCES if "[metrics." not in text or '"theme"' in text else ""
    assert Collection.loads(text).metrics, block.where


def recorded(block: Block, _: Running, __: Path) -> None:
    """Values of a page's collection, in an application; each is answered."""
    page = block.where.rpartition(":")[0]
    text = "".join([*MISSING.values(), *(each.code for each in blocks(page) if each.language == "toml")])
    client = TestClient(Collection.loads(text))
    exec(compile(block.code, block.where, "exec"), {"client": client})
    client.flush()
    assert all(client.reports(name) for name in client.collection.metrics)


def drawn(block: Block, _: Running, room: Path) -> None:
    """What simulated devices have, of the collection of the page that asks it."""
    text = next(each.code for each in blocks("docs/collections.md") if "[collection]" in each.code)
    joint = next(each.code for each in blocks("docs/collections.md") if each.code.startswith("[metrics.theme_by"))
    collection = Collection.loads(WHOLE + joint if "theme" in block.code else text)
    (room / "truth.toml").write_text(block.code)
    found = Truth.load(room / "truth.toml", collection).draw(5, np.random.default_rng(1))
    assert found
    assert all(len(each) == 5 for each in found.values())


def read(block: Block, aggregator: Running, _: Path) -> None:
    """What asks an aggregator in Python."""
    exec(compile(block.code.replace("127.0.0.1:8470", aggregator.endpoint), block.where, "exec"), {})


def learned(block: Block, _: Running, __: Path) -> None:
    """The loop of rounds, to its end, with an aggregator that has the answers of each."""
    from examples.learning.questions import asked as questions

    collection = Collection.loads(questions(31, 10, "4"))
    generator, names = np.random.default_rng(1), {"__name__": "shown"}
    with running(collection) as aggregator:
        epoch = collection.epoch_at(time.time())
        for name, metric in collection.metrics.items():
            value: object = 0.5 if name == "length" else [0.1] * 31
            aggregator.put(collection, epoch, {name: simulate(metric, [value] * 50, generator)}, batches=50)
        exec(compile(block.code.replace("127.0.0.1:8470", aggregator.endpoint), block.where, "exec"), names)
    reader = names["reader"]
    assert isinstance(reader, Reader)
    reader.close()


def tooled(block: Block, _: Running, room: Path) -> None:
    """A tool's own commands, with a person who agrees and an aggregator."""
    first, *others = block.code.splitlines()
    served = shlex.split(first.removesuffix("&"))
    with serving(room / "data", *(ROOT / each for each in served[2:])) as endpoint:
        for line in others:
            program, *rest = shlex.split(line, comments=True)
            more = ["--endpoint", endpoint] if program == "deniable" else []
            ran = subprocess.run(
                [COMMAND if program == "deniable" else sys.executable, *rest, *more],
                cwd=ROOT,
                env=os.environ | {"XDG_STATE_HOME": str(room), "WORDCOUNT_ENDPOINT": endpoint},
                capture_output=True,
                text=True,
            )
            assert (ran.returncode, ran.stderr) == (0, ""), f"{block.where}: {line}: {ran.stderr}"
            assert ran.stdout, line


def told_of_a_file(block: Block, _: Running, room: Path) -> None:
    """What is said of a collection before there is a device; what is written is written into a room of its own."""
    for line in block.code.splitlines():
        words = shlex.split(line, comments=True)[1:]
        written = {name: str(room / name) for name in ("plan.html", "notice.html") if name in words}
        found = told(*(({"examples/editor.toml": str(EDITOR)} | written).get(word, word) for word in words))
        assert (found.returncode, found.stderr) == (0, ""), f"{block.where}: {line}: {found.stderr}"
        assert found.stdout or all(Path(each).exists() for each in written.values()), line


def in_the_notice(block: Block, _: Running, __: Path) -> None:
    """Lines of what people are told of the editor."""
    assert block.code in told("notice", EDITOR).stdout, block.where


def published(block: Block, _: Running, room: Path) -> None:
    """Answers as a static site, of an aggregator that has reports of one question."""
    collection = Collection.load(EDITOR)
    words = shlex.split(block.code)[1:]
    where = {"public/": str(room / "public"), "examples/editor.toml": str(EDITOR)}
    with running(collection) as served:
        served.put(collection, collection.epoch_at(time.time()), {"crashed": [700, 300]}, batches=1000)
        found = told(*(where.get(word, word) for word in words), "--endpoint", served.endpoint)
    assert (found.returncode, found.stderr) == (0, ""), f"{block.where}: {found.stderr}"
    assert (room / "public" / "index.html").exists()


def lectured(block: Block, _: Running, __: Path) -> None:
    """A topic of the lectures, and which there are. The page itself is held against them by a test of its own."""
    for line in block.code.splitlines():
        words = shlex.split(line, comments=True)
        if "--write" not in words:
            ran = subprocess.run([sys.executable, *words[1:]], cwd=ROOT, capture_output=True, text=True)
            assert (ran.returncode, ran.stderr) == (0, ""), f"{block.where}: {line}: {ran.stderr}"
            assert "survey" in ran.stdout


def configured(block: Block, _: Running, room: Path) -> None:
    """A file of an aggregator's settings, with this machine's places for those that it names."""
    (room / "collections").mkdir()
    (room / "collections" / "metrics.toml").write_text(WHOLE)
    (room / "tokens").write_text(f"report {64 * '0'}\n")
    text = block.code.replace("/etc/deniable/server", str(ROOT / "tests" / "support" / "tls" / "server"))
    text = text.replace("/etc/deniable", str(room)).replace("/var/lib/deniable", str(room / "data"))
    (room / "serve.toml").write_text(text.replace("[::]:8470", "[::1]:0"))
    found = told("serve", "--config", room / "serve.toml", "--check")
    assert (found.returncode, found.stderr) == (0, ""), f"{block.where}: {found.stderr}"
    assert "shown" in found.stdout


ELSEWHERE = {
    "docs/adding.md": "tests/mechanisms/test_adding.py",
    "docs/deploying.md": "tests/deploy/test_guide.py",
    "docs/explaining.md": "tests/web/test_explaining.py",
    "CONTRIBUTING.md": "tests/docs/test_readmes.py",
    **dict.fromkeys(READMES, "tests/docs/test_readmes.py"),
    **dict.fromkeys(HOUR[1:], "tools/first_hour.py"),
}
"""Pages all of whose blocks are run by another file."""
HERE: dict[str, tuple[Way | str, ...]] = {
    "docs/lectures.md": (lectured, "tests/examples/lectures/test_map.py"),
    "docs/migrating.md": (loaded, recorded),
    "docs/notice.md": (told_of_a_file, in_the_notice, loaded, published),
    "docs/planning.md": (told_of_a_file,),
    "docs/serving.md": (configured, let_in),
    "docs/reading.md": (asked, doubted, asked),
    "docs/http.md": (fetched,),
    "docs/comparisons.md": (asked,),
    "docs/poisoning.md": (asked, read),
    "docs/collections.md": (loaded, loaded, loaded, drawn, drawn),
    "docs/words.md": (loaded,),
    "docs/changing.md": (loaded, loaded, loaded),
    "examples/README.md": (tooled,),
    "docs/learning.md": (learned, loaded, "tests/learning/in_flower.py"),
}
"""Of all other pages: the way of each block, in order; of what follows the last of these it is the last's."""


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Two weeks of an editor's devices, on two platforms."""
    collection = Collection.loads(
        head("editor", 2.0, platform=["linux", "windows"])
        + metric("browser", "category", "The default browser", values=["chrome", "firefox"])
        + metric("dark_mode", "boolean", "The dark theme is on", memoize=True)
    )
    generator = np.random.default_rng(7)
    values: dict[str, list[Any]] = {"browser": ["chrome", "firefox"] * 100, "dark_mode": [True, False] * 100}
    with running(collection) as started:
        for ago in range(14):
            for segment in range(2):
                counters = {name: simulate(own, values[name], generator) for name, own in collection.metrics.items()}
                started.put(collection, collection.epoch_at(time.time()) - ago, counters, segment, batches=200)
        yield started


def with_blocks() -> dict[str, list[Block]]:
    """The pages that have any, and theirs."""
    found = {page: blocks(page) for page in pages() if page != "CHANGELOG.md"}
    return {page: own for page, own in found.items() if own}


def test_every_block_has_a_way() -> None:
    """A page with a block that nobody runs is not passed over: it gets a way in HERE, or a test of its own."""
    found = with_blocks()
    assert found.keys() == HERE.keys() | ELSEWHERE.keys()
    for page, ways in HERE.items():
        same = len(found[page]) == len(ways) or (isinstance(ways[-1], str) and len(found[page]) > len(ways))
        assert same, f"{page}: {[block.where for block in found[page]]}"
    for page in pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.count("```") == 2 * len(blocks(page)), f"{page}: code without a language"


def test_who_runs_blocks_elsewhere_says_so() -> None:
    """By the page's name; what a page has printed is text, and code is not."""
    for page, file in [*ELSEWHERE.items(), *((page, way) for page, ways in HERE.items() for way in ways)]:
        if isinstance(file, str):
            text = (ROOT / file).read_text(encoding="utf-8")
            assert PurePath(page).stem in text, f"{file} does not run {page}"
    for page, own in with_blocks().items():
        assert {block.language for block in own} <= {"python", "sh", "text", "toml"}, page


@pytest.mark.parametrize("page", HERE)
def test_every_block_of_a_page_runs(page: str, aggregator: Running, tmp_path: Path) -> None:
    """As its way says."""
    for number, (block, way) in enumerate(zip(blocks(page), HERE[page], strict=False)):
        if not isinstance(way, str):
            (tmp_path / str(number)).mkdir()
            way(block, aggregator, tmp_path / str(number))
