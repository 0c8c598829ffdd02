"""The vectors for other languages are what the command makes, whole, and told by their schemas."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tools.porting import ROOT, alike, files, near, written
from tools.porting_words import Noted, Stream, noted, words_of

from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable.randomness import WORD
from vectors.test_device import column, sent

FILES = {path.relative_to(ROOT).as_posix(): json.loads(path.read_text(encoding="utf-8")) for path in (
    *ROOT.glob("*.json"), *ROOT.glob("mechanisms/*.json")
)}  # fmt: skip
MOST = 3_200_000
"""Bytes of all vectors together."""


def schema(name: str) -> Draft202012Validator:
    """What tells of a file."""
    room, _, own = name.rpartition("/")
    told = json.loads((ROOT / "schemas" / f"{'mechanism' if room else own[:-5]}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(told)
    return Draft202012Validator(told)


def test_the_files_are_what_the_command_makes() -> None:
    """Byte by byte: whatever changes what a device says of the same words changes them, and is seen.

    `python -m tools.porting --write`, where the change is meant; `test_aggregator.py` computes the answers anew.
    """
    made = dict(files(answered=False))
    assert made.keys() | {"answers.json"} == FILES.keys()
    assert [name for name, content in made.items() if (ROOT / name).read_text("utf-8") != written(content)] == []


@pytest.mark.deep
def test_all_files_are_what_the_command_makes() -> None:
    """The counters behind the answers, too."""
    assert [name for name, content in files() if not alike(name, FILES[name], json.loads(written(content)))] == []


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_as_its_schema_says(name: str) -> None:
    """In full; a number that is no text, or a case that lacks something, is found."""
    judge = schema(name)
    judge.validate(FILES[name])
    content = json.loads(json.dumps(FILES[name]))
    for cases in (value for value in content.values() if isinstance(value, list)):
        cases[0] = None
    assert not judge.is_valid(content)


def test_all_of_them_are_small() -> None:
    """A repository is copied by everybody."""
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < MOST


def test_nothing_that_devices_do_is_left_out() -> None:
    """Each registered mechanism has a thousand cases or more; each kind has values and answers."""
    mechanisms = {name: FILES[f"mechanisms/{name}.json"]["cases"] for name in MECHANISMS}
    assert {name for name, cases in mechanisms.items() if len(cases) < 1000} == set()
    kinds = {
        (own["name"], metric["name"]): metric["kind"]
        for own in FILES["collections.json"]["collections"]
        for metric in own["metrics"]
    }
    assert set(kinds.values()) == set(KINDS)
    assert {tuple(case[:2]) for case in FILES["kinds.json"]["cases"]} == kinds.keys()
    answered = {(case["collection"], case["metric"]) for case in FILES["answers.json"]["cases"]}
    assert answered == kinds.keys()
    sent = {column for case in FILES["batches.json"]["cases"] for column, _ in case["reports"]}
    assert len(sent) > len(kinds) / 2
    assert any(case["wide_rows"] for case in FILES["batches.json"]["cases"])


def thresholds(parameters: dict[str, str]) -> Iterator[int]:
    """Those that are compared with one word, of parameters."""
    numbers = {name: int(digits) for name, digits in parameters.items()}
    for name, number in numbers.items():
        if name.rpartition("_")[2] in {"lies", "inside", "flips", "farther", "away", "permanent", "fresh"}:
            yield number
        if name.rpartition("_")[2] in {"zero", "beyond"} or "digit_" in name:
            yield number >> 192


@pytest.mark.parametrize("name", MECHANISMS)
def test_cases_lie_on_both_sides_of_every_threshold(name: str) -> None:
    """Of the subject with the most cases: the word that is just below it, and the one that is not. A reader that
    compares with <= for <, or that is off by one, says something else."""
    file = FILES[f"mechanisms/{name}.json"]
    ((subject, many),) = Counter(case[0] for case in file["cases"]).most_common(1)
    taken = {word for case in file["cases"] if case[0] == subject for word in words_of(case[4])}
    marks = set(thresholds(file["subjects"][subject]["parameters"]))
    assert many >= 1000
    assert marks or name in {"exponential", "gaussian"}, "tables are of 128 bits, and in no parameter"
    assert {mark for mark in marks if not {mark - 1, mark} & taken or (mark and mark - 1 not in taken)} == set()
    assert {0, WORD - 1} <= taken


def limits(name: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Of how many the client draws one, for the inputs of all cases."""
    file, found, real = FILES[f"mechanisms/{name}.json"], set(), Noted.below

    def below(notes: Noted, limit: int) -> int:
        found.add(limit)
        return real(notes, limit)

    with monkeypatch.context() as patched:
        patched.setattr(Noted, "below", below)
        with noted(Stream(f"limits {name}")):
            for subject, value, *_ in file["cases"]:
                own = file["subjects"][subject]
                sent(column(own["collection"], own["column"]).mechanism, int(value, 16))
    return found


def test_cases_draw_again_where_a_draw_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every mechanism that draws one of so many, where these are no power of two."""
    again = {name for name in MECHANISMS if any(case[6] for case in FILES[f"mechanisms/{name}.json"]["cases"])}
    assert again == {name for name in MECHANISMS if any(limit & limit - 1 for limit in limits(name, monkeypatch))}
    assert again >= {
        "randomized_response", "subset_selection", "projective_geometry", "hybrid", "memoized_subset",
        "pad_and_sample", "codewords",
    }  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_page_tells_of_every_parameter(name: str) -> None:
    """By its name, with `_i` for a number at its end, or by what it begins with where it is another mechanism's."""
    page = (ROOT / "README.md").read_text("utf-8")
    assert f"**{name}**" in page
    told = set(re.findall(r"`([a-z_]+)(?:\.\.\.)?`", page))
    for subject in FILES[f"mechanisms/{name}.json"]["subjects"]:
        for parameter in subject["parameters"]:
            assert {re.sub(r"_\d+$", "_i", parameter), parameter[: parameter.find("_") + 1]} & told, parameter


def test_answers_are_compared_as_near_as_they_say() -> None:
    """A number that is farther off than the tolerance is another one, and so is one that is not known."""
    rows: list[list[Any]] = [["shares", "yes", 0.5, 0.4, 0.6, None]]

    def other(*numbers: float | None) -> list[list[Any]]:
        return [["shares", "yes", *numbers]]

    assert near(rows, other(0.5 + 1e-7, 0.4, 0.6, None), 1e-6)
    assert not near(rows, other(0.5 + 1e-6, 0.4, 0.6, None), 1e-6)
    assert not near(rows, other(0.5, None, 0.6, None), 1e-6)
    assert not near(rows, [["shares", "no", *rows[0][2:]]], 1e-6)
    assert not near(rows, [], 1e-6)
