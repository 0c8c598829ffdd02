"""The runbook has an entry for everything that somebody may be told when something is wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import grpc

from deniable.wire import outcome
from deniable_aggregator import store
from support.commands import ROOT

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
HOUSE = ROOT / "aggregator" / "deniable_aggregator"


def entries(section: str) -> dict[str, list[str]]:
    """The rows of a section's table by what they are about, each with its other cells."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    found = {about: [cell.strip("` ") for cell in rest.split(" | ")] for about, rest in rows}
    assert len(found) == len(rows), "an entry is there twice"
    assert all(cell for cells in found.values() for cell in cells), "an entry says nothing"
    return found


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """Calls of a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def reasons() -> dict[str, str]:
    """Every reason of a refusal in the product, with its code."""
    found: dict[str, str] = {}
    for file in HOUSE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "Refusal(" not in text:
            continue
        tree = ast.parse(text)
        makers = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for call in calls(tree, "Refusal"):
            code, reason = call.args[:2]
            assert isinstance(code, ast.Attribute), f"{file}:{call.lineno}"
            if isinstance(reason, ast.Constant):
                found[str(reason.value)] = code.attr
                continue
            (maker,) = (each for each in makers if call in ast.walk(each))
            assert isinstance(reason, ast.Name)
            place = [argument.arg for argument in maker.args.args].index(reason.id)
            for made in calls(tree, maker.name):
                given = made.args[place]
                assert isinstance(given, ast.Constant)
                found[str(given.value)] = code.attr
    return found


def test_every_reason_of_a_refusal_has_an_entry_with_its_code() -> None:
    """And no entry is of a reason that there is none of."""
    found = reasons()
    assert {"MALFORMED_BATCH", "EPOCH_TOO_OLD", "NO_TOKEN", "BUSY"} <= found.keys()
    assert {reason: cells[0] for reason, cells in entries("What a device is told").items()} == found


def test_every_code_that_a_call_ends_with_has_an_entry() -> None:
    """With the word that an SDK counts it as, and whether it keeps the batch."""
    known = {code: (own.counted_as, own.keep) for code, own in outcome._REFUSED.items()}
    for code in grpc.StatusCode:
        unreached = code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
        other = outcome.UNREACHABLE if unreached else outcome.NOT_TAKEN
        known.setdefault(code.name, (other.counted_as, other.keep))
    del known["OK"]
    said = entries("What an SDK counts")
    assert {code: (cells[0], cells[1].startswith("is kept")) for code, cells in said.items()} == known


def test_every_error_of_the_store_has_an_entry() -> None:
    """By the name that it has in metrics."""
    errors = {
        name for name in store.__all__ if isinstance(own := getattr(store, name), type) and issubclass(own, Exception)
    }
    assert "StoreFull" in errors
    assert entries("What the store says").keys() == errors


def test_every_alert_has_an_entry_that_says_what_to_do() -> None:
    """Means, look at, do: in this order."""
    alerts = re.findall(r"- alert: (\w+)", (ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))
    assert len(alerts) > 10
    for alert in alerts:
        (text,) = re.findall(rf"^## {alert}\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
        assert re.findall(r"^\*\*(Means|Look at|Do)\.\*\*", text, re.MULTILINE) == ["Means", "Look at", "Do"], alert
