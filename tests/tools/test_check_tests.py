"""The check of the tests' own rules finds what it is there to find, wherever it is planted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.check_tests import findings

from support.commands import ROOT
from support.waiting import PATIENCE

CHECK = ROOT / "tools" / "check_tests.py"
IMPORT = "import"
"""Apart, so that what is planted is no program of this file's."""
PLANTED = {
    "a difference": "def test():\n    a = time.monotonic()\n    work()\n    assert time.monotonic() - a < 5\n",
    "a deadline": "def test():\n    end = time.monotonic() + 5\n    assert time.monotonic() < end\n",
    "a helper": "def took():\n    a = time.time()\n    return time.time() - a\ndef test():\n    assert took() < 1\n",
    "a list": "def test():\n    taken = []\n    a = time.monotonic()\n    taken.append(time.monotonic() - a)\n"
    "    assert min(taken) < 1\n",
    "processor time": "def test():\n    print(time.process_time())\n",
    "a stopwatch by name": "def test():\n    perf_counter()\n",
    "in a program": 'PROGRAM = """\nimport time\nbefore = time.perf_counter()\n"""\n',
    "a program with places to fill in": 'PROGRAM = f"""\nimport time\ntime.sleep(3)\nprint({PLACE})\n"""\n',
    "a fixed wait": "def test():\n    time.sleep(0.5)\n",
    "a fixed wait by name": "PAUSE = 0.5\nasync def test():\n    await asyncio.sleep(PAUSE)\n",
    "a fixed number of looks": "def test():\n    for _ in range(30):\n        time.sleep(0.1)\n",
    "a bound": "async def test():\n    async with asyncio.timeout(10):\n        pass\n",
    "a bound by name": "def test():\n    subprocess.run(['true'], timeout=20)\n",
    "a bound by its place": "def test():\n    assert process.wait(30) == 0\n",
    "a bound at the second place": "async def test():\n    await asyncio.wait_for(work(), 20)\n",
    "a bound of two minutes": "def test():\n    subprocess.run(['true'], timeout=120)\n",
    "a bound in milliseconds": "def test():\n    expect(card).to_have_text('a', timeout=40_000)\n",
    "a short bound that is to do": "def test():\n    assert event.wait(0.5)\n",
    "a failure": "def test():\n    a = time.monotonic()\n    work()\n    if time.monotonic() - a > 5:\n"
    "        pytest.fail('slow')\n",
    "an error": "def test():\n    a = time.monotonic()\n    work()\n    if time.monotonic() - a > 5:\n"
    "        raise AssertionError\n",
    "a clock by another name": f"from time {IMPORT} monotonic as clock\ndef test():\n    a = clock()\n    work()\n"
    "    assert clock() - a < 5\n",
    "a module by another name": f"{IMPORT} time as t\ndef test():\n    a = t.monotonic()\n    work()\n"
    "    assert t.monotonic() - a < 5\n",
    "a clock that is kept": "clock = time.monotonic\ndef test():\n    a = clock()\n    assert clock() - a < 5\n",
    "how far it got": "def test():\n    end, done = time.monotonic() + 2, 0\n    while time.monotonic() < end:\n"
    "        done += work()\n    assert done > 100\n",
    "how far it got, by a difference": "def test():\n    a, done = time.time(), 0\n    while time.time() - a < 2:\n"
    "        done += work()\n    assert done > 100\n",
    "a wait for nothing": "def test():\n    threading.Event().wait(0.5)\n",
    "a browser's wait": "def test():\n    page.wait_for_timeout(500)\n",
    "a short end": "def test():\n    thread.join(timeout=1)\n    assert not thread.is_alive()\n",
}
HARMLESS = {
    "a loop that looks": "def test():\n    while not holds():\n        time.sleep(0.1)\n",
    "a random moment": "def test():\n    time.sleep(random.random())\n",
    "the time that it is": "def test():\n    assert batch().epoch == int(time.time() // 86400)\n",
    "a clock that is given": "def test():\n    a = time.monotonic()\n    run(clock=lambda: time.monotonic() - a)\n",
    "a bound that is meant to run out": "def test():\n    call(timeout=1.0)\n",
    "a bound that is to run out": "def test():\n    assert not event.wait(0.5)\n",
    "a loop that only a hang ends": "def test(patience=PATIENCE):\n    end = time.monotonic() + patience\n"
    "    while time.monotonic() < end:\n        look()\n",
    "a number that is no bound": "def test():\n    assert board.join(0).accepted == ', '.join(['a', 'b'])\n",
}


def planted(room: Path, text: str) -> Path:
    """Tests, one of which is this one."""
    (room / "support").mkdir()
    (room / "support" / "shared.py").write_text("def others():\n    return 1\n")
    (room / "test_planted.py").write_text("import asyncio\nimport time\n" + text)
    return room


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED)
def test_what_judges_time_is_found(tmp_path: Path, text: str) -> None:
    """Once, with its file and line."""
    (found,) = findings(planted(tmp_path, text))
    assert found.path == tmp_path / "test_planted.py"
    assert 2 < found.line <= 2 + text.count("\n")


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_does_not_is_left_alone(tmp_path: Path, text: str) -> None:
    """A wait for an event, a random moment, a moment that matters, a clock of the test's own."""
    assert findings(planted(tmp_path, text)) == []


def test_tests_with_one_that_is_planted_do_not_pass(tmp_path: Path) -> None:
    """The command that `make check` runs says where it is, and nothing of those that share what it does."""
    room = tmp_path / "tests"
    for part in ("support", "client/device"):
        shutil.copytree(ROOT / "tests" / part, room / part, ignore=shutil.ignore_patterns("__pycache__"))
    (room / "client" / "test_planted.py").write_text("import time\n" + PLANTED["a difference"])
    shown = subprocess.run([sys.executable, CHECK, room], capture_output=True, text=True, timeout=PATIENCE)
    assert shown.returncode == 1
    (line,) = shown.stdout.splitlines()
    assert line.startswith(f"{room / 'client' / 'test_planted.py'}:5: ")
