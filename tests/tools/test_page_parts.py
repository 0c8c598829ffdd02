"""The part of a page that a command makes is put between its comments, and nothing else of the page changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.page_parts import Part

PART = Part("<!-- own -->", "<!-- end of own -->")
PAGE = (
    "# A\n\n<!-- other -->\n\n| 1 |\n\n<!-- end of other -->\n\n<!-- own -->\n\n| 2 |\n\n<!-- end of own -->\n\nB\n"
)


def test_what_is_put_stands_there(tmp_path: Path) -> None:
    """In place of what stood there; another part stays."""
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    assert PART.of(PAGE) == "| 2 |"
    assert PART.write(path, "| ä |") == PAGE.replace("| 2 |", "| ä |") == path.read_text(encoding="utf-8")
    assert PART.put(PAGE, PART.of(PAGE)) == PAGE


@pytest.mark.parametrize(
    "page", ["# A\n", PAGE.replace("<!-- end of own -->", ""), PAGE.replace("<!-- own -->", ""), PAGE + PAGE]
)
def test_a_page_without_its_comments_is_left_alone(page: str, tmp_path: Path) -> None:
    """And so is one that has them twice: nothing of it is lost."""
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises(ValueError, match="<!-- own -->"):
        PART.write(path, "| 3 |")
    assert path.read_text(encoding="utf-8") == page
