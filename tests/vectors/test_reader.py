"""The files suffice: a reader in another language, which has nothing else, says what the client says.

It is JavaScript, and runs in the browser. It has whole numbers of any size, and doubles only where a value's place on
a range is told in doubles (`kinds.js`). Where something is wrong in it, it contradicts the files: each of the faults
below is one that somebody could make who writes an SDK.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route
from tools.porting import ROOT

from support.site import browser

READER = Path(__file__).parent / "reader"
SOURCES = {path.name: path.read_text("utf-8") for path in READER.glob("*.js")}
FILES = {
    path.relative_to(ROOT).as_posix(): json.loads(path.read_text("utf-8"))
    for path in (*ROOT.glob("*.json"), *ROOT.glob("mechanisms/*.json"))
}
HOST = "http://reader.invalid"
"""No such host is asked: the browser gets what it loads from the test."""


class Reading:
    """A page that reads vectors, with a reader that may have a fault."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._changed: dict[str, str] = {}
        page.route(f"{HOST}/**", self._answer)

    def _answer(self, route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name.endswith(".js"):
            route.fulfill(body=(SOURCES | self._changed)[name], content_type="text/javascript")
        else:
            route.fulfill(body="<title>Reader</title>", content_type="text/html")

    def check(self, files: dict[str, Any], changed: dict[str, str] | None = None) -> dict[str, Any]:
        """How many cases of each file were done again, and what came out differently."""
        self._changed = changed or {}
        self._page.goto(HOST)
        told: dict[str, Any] = self._page.evaluate(
            "async (files) => (await import('/check.js')).check(JSON.parse(files))", json.dumps(files)
        )
        return told


@pytest.fixture(scope="module")
def reading() -> Iterator[Reading]:
    """One page for all tests."""
    with browser() as started:
        yield Reading(started.new_page())


def test_a_reader_in_another_language_says_the_same(reading: Reading) -> None:
    """Every case of the client's half: digests, thresholds, inputs, payloads, what was drawn on the way, how many
    words were discarded, and the bytes of batches."""
    told = reading.check(FILES)
    assert told["wrong"] == []
    assert told["checked"].keys() == FILES.keys() - {"answers.json"}
    for name, file in FILES.items():
        if name not in {"answers.json", "collections.json", "codebook.json"}:
            cases = len(file["cases"]) if "cases" in file else sum(map(len, file.values()))
            assert told["checked"][name] == cases * (2 if name == "batches.json" else 1)


FAULTS = {
    "a coin that shows heads at its threshold": (
        "draws.js", "this.take() < threshold)", "this.take() <= threshold)", "mechanisms/randomized_response.json",
    ),
    "a fine coin that looks at its first word only": (
        "draws.js", "if (first !== upper) return", "return", "mechanisms/laplace.json",
    ),
    "a fine coin whose words come the other way round": (
        "draws.js", "(number << 64n) | this.take()", "number | (this.take() << BigInt(64 * each))",
        "mechanisms/laplace.json",
    ),
    "words that are turned round before they are used": (
        "draws.js", "BigInt(`0x${digits}`)", "BigInt(`0x${digits.match(/../g).reverse().join('')}`)", "draws.json",
    ),
    "nothing discarded": ("draws.js", "word >= fair", "word > WORD", "mechanisms/hybrid.json"),
    "one word too many discarded": ("draws.js", "word >= fair", "word >= fair - 1n", "mechanisms/hybrid.json"),
    "a lie that is drawn only where it is told": (
        "mechanisms.js", "const other = words.below(inputs - 1n);\n  return lie ? other",
        "const other = lie && words.below(inputs - 1n);\n  return lie ? other", "mechanisms/randomized_response.json",
    ),
    "noise that grows by three": (
        "mechanisms.js", "noise = 4n * noise", "noise = 3n * noise", "mechanisms/gaussian.json",
    ),
    "a table that is searched up to what is below": (
        "mechanisms.js", "mark <= drawn", "mark < drawn", "mechanisms/gaussian.json",
    ),
    "a draw that is scaled with half of its bits": (
        "mechanisms.js", "words.many(2) * total) >> 128n", "words.many(2) * total) >> 127n",
        "mechanisms/exponential.json",
    ),
    "rows with the high byte first": (
        "rows.js", "length }, (_, place) => Number((number >> BigInt(8 * place))",
        "length }, (_, place) => Number((number >> BigInt(8 * (length - 1 - place)))", "batches.json",
    ),
    "a zero that is sent": ("rows.js", "value ? [", "value >= 0 ? [", "batches.json"),
    "codewords whose seed has its high byte first": (
        "codebook.js", "setBigUint64(0, seed, true)", "setBigUint64(0, seed, false)", "mechanisms/codewords.json",
    ),
    "the second nearest codeword for the nearest": (
        "codebook.js", "marks[one] > marks[other] ? -1 : 1", "marks[one] > marks[other] ? 1 : -1",
        "mechanisms/codewords.json",
    ),
    "a threshold that is rounded to the nearest": (
        "thresholds.js", "ceil(times(whole(WORD)", "rounded(times(whole(WORD)", "collections.json",
    ),
    "a level that is drawn up to its end": ("kinds.js", "word < BigInt(end)", "word <= BigInt(end)", "kinds.json"),
}  # fmt: skip
"""What is wrong, in which file which text for which one, and where it shows."""
BESIDE = ("collections.json", "codebook.json")
EVERY = 5


def few(name: str) -> dict[str, Any]:
    """A file with every so manieth case of a mechanism, which is enough to show a fault."""
    file: dict[str, Any] = FILES[name]
    return {**file, "cases": file["cases"][::EVERY]} if name.startswith("mechanisms/") else file


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_shows(fault: str, reading: Reading) -> None:
    """With one thing wrong in the reader, the file that is about it is contradicted."""
    source, right, wrong, where = FAULTS[fault]
    assert SOURCES[source].count(right) == 1
    files = {name: few(name) for name in {*BESIDE, where}}
    told = reading.check(files, {source: SOURCES[source].replace(right, wrong)})
    assert [each for each in told["wrong"] if each.startswith(f"{where} ")]


def test_a_threshold_that_is_off_by_one_shows(reading: Reading) -> None:
    """In the parameters of every mechanism that has one: a port that computes it so would say something else.

    Of the exponential mechanism's weights several make one word of the 2^128: there it is eight.
    """
    changed = {}
    for name in FILES:
        if name.startswith("mechanisms/"):
            file = few(name)
            subjects = [{**own, "parameters": _raised(own["parameters"])} for own in file["subjects"]]
            changed[name] = {**file, "subjects": subjects}
    told = reading.check({name: FILES[name] for name in BESIDE} | changed)
    contradicted = {each.partition(" ")[0] for each in told["wrong"]}
    assert changed.keys() - contradicted == set()


def _raised(parameters: dict[str, str]) -> dict[str, str]:
    """With each of the large numbers greater by one, or by as much as makes a word: sizes are small."""
    by = {
        name: (8 if name.startswith("weight_") else 1) * (int(number) >= 1 << 16)
        for name, number in parameters.items()
    }
    return {name: str(int(number) + by[name]) for name, number in parameters.items()}
