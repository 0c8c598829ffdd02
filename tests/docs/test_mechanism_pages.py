"""Every mechanism has a page: what it does, a picture of its chances, why epsilon holds, where it is from."""

from __future__ import annotations

import re

import pytest
from tools.mechanism_pictures import PICTURES, SHOWN, chances, drawn

from deniable.mechanisms import MECHANISMS
from support.commands import ROOT

PAGES = ROOT / "docs" / "mechanisms"
PARTS = ["The chances", "Why epsilon holds", "How sure an answer is", "Where it is from, and where it is"]


def test_every_mechanism_has_a_page_and_no_page_is_of_none() -> None:
    """They are those of the registry, and the front leads to each."""
    assert {path.stem for path in PAGES.glob("*.md")} == MECHANISMS.keys() | {"README"}
    front = (PAGES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\((\w+)\.md\)", front)) == sorted(MECHANISMS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_page_has_all_parts_and_leads_to_the_code(name: str) -> None:
    """Each with something in it; a reference is a paper's address, or its title in italics."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    assert [part.partition("\n")[0] for part in parts] == PARTS
    assert all(len(part.split()) > 20 for part in parts)
    assert f"(../images/mechanisms/{name}.svg)" in text
    assert re.search(r"\[arXiv:\d{4}\.\d{4,5}\]|\*[A-Z][^*]{20,}\*", parts[-1])
    links = re.findall(rf"\((\.\./\.\./[^)]*/{name}\.py)\)", parts[-1])
    assert len(links) == 4
    assert all((PAGES / link).exists() for link in links)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_picture_is_of_the_chances_as_they_are(name: str) -> None:
    """`python -m tools.mechanism_pictures --write` draws it anew."""
    assert SHOWN[name].mechanism.name == name
    assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == drawn(name)


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_drawn_is_a_channel(name: str) -> None:
    """Of either answer the chances add up to one: no payload is left out."""
    for side in zip(*chances(SHOWN[name]), strict=True):
        assert sum(side) == pytest.approx(1, abs=1e-9)
