"""The pages of the site before they are built: where each is put, where its links lead then, what stands below what.

words:
  page    a Markdown file of the repository, or one of the reference, which is made of docstrings
  place   the path that a page has in the site: docs/words.md is words.md, docs/README.md index.md, and what is not in
          docs is under project
  group   a list of links under a heading of docs/README.md: a part of the site's menu
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tools.site_reference import reference

__all__ = ["BUILD", "ROOT", "Group", "groups", "lay_out", "pages", "place"]

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "docs"
"""Where the site is."""
FRONT = "docs/README.md"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "client/README.md",
    "aggregator/README.md",
    "examples/**/*.md",
    "vectors/README.md",
    "docs/**/*.md",
)
"""What is a page of the site."""
_LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)((?:#[^)\s]+)?\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)


class Group(NamedTuple):
    """A part of the menu."""

    title: str
    """As its heading says."""
    pages: dict[str, str]
    """How each is called there, by its path in the repository, in order."""


def pages() -> list[str]:
    """All, by their paths in the repository."""
    return sorted(found.relative_to(ROOT).as_posix() for names in PAGES for found in ROOT.glob(names))


def place(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path == FRONT:
        return "index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else f"project/{path}"


def groups() -> list[Group]:
    """The menu, as docs/README.md has it."""
    _, *parts = re.split(r"^## ", (ROOT / FRONT).read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = list[Group]()
    for part in parts:
        links = re.findall(r"^- \[([^]]*)\]\(([^)#]+)\)", part, re.MULTILINE)
        found.append(Group(part.partition("\n")[0], {_meant(FRONT, target): title for title, target in links}))
    return found


def _meant(page: str, target: str) -> str:
    """The file that a link leads to; of a directory, the page that is shown for it."""
    path = os.path.normpath(PurePosixPath(page).parent / target)
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def lay_out(source: Path) -> None:
    """Put every page where it belongs, with what it shows or leads to beside it."""
    source.mkdir(parents=True)
    for page in pages():
        text, files = _moved(page)
        for file in files:
            if (ROOT / file).is_file():
                _made(source / place(file)).write_bytes((ROOT / file).read_bytes())
        _made(source / place(page)).write_text(text + _below(page), encoding="utf-8")
    for page, (_, text) in reference().items():
        _made(source / page).write_text(text, encoding="utf-8")


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _moved(page: str) -> tuple[str, set[str]]:
    """A page's text with links as they are in the site, and the files that are no pages to which they lead."""
    known, files = set(pages()), set()
    here = PurePosixPath(place(page)).parent

    def leading(link: re.Match[str]) -> str:
        target = _meant(page, link[2])
        if target not in known:
            files.add(target)
        return f"{link[1]}{os.path.relpath(place(target), here)}{link[3]}"

    parts = _CODE.split(_raised((ROOT / page).read_text(encoding="utf-8")))
    parts[::2] = [_LINK.sub(leading, part) for part in parts[::2]]
    return "".join(parts), files


def _raised(text: str) -> str:
    """A page whose headings begin at the second level, as a part of another one has them: they begin at the first."""
    first = re.search(r"^(#+) ", text, re.MULTILINE)
    return re.sub(r"^#(?=#+ )", "", text, flags=re.MULTILINE) if first and first[1] == "##" else text


def _below(page: str) -> str:
    """What a page has below it in the menu: the front its groups, one that stands for a directory what is there."""
    if page == FRONT:
        return "".join(_tree(_entries(group), group.title) for group in groups())
    path = PurePosixPath(page)
    room = path.parent if path.name == "README.md" and path.parent.name else path.with_suffix("")
    inside = [each for each in pages() if each != page and each.startswith(f"{room}/")]
    here = PurePosixPath(place(page)).parent
    return _tree([os.path.relpath(place(each), here) for each in inside]) if inside else ""


def _entries(group: Group) -> list[str]:
    """The pages of a group with their titles; what is made of docstrings and parsers is in that of its name."""
    made = [f"{title} <{page}>" for page, (title, _) in reference().items()] if group.title == "Reference" else []
    return made + [f"{title} <{place(page)}>" for page, title in group.pages.items()]


def _tree(entries: list[str], caption: str = "") -> str:
    head = f":caption: {caption}\n" if caption else ""
    return "\n```{toctree}\n:hidden:\n" + head + "\n" + "\n".join(entries) + "\n```\n"
