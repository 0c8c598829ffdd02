"""A document: headings, paragraphs, lists and tables, as HTML, as Markdown and as plain text.

Whatever is filled in is somebody's words: nothing of it is markup.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deniable.person.words import laid_out, plain

__all__ = ["Document", "escaped", "page"]

_STYLE = """
:root { color-scheme: light dark; --line: #767676; --mark: #0b57d0; --soft: #0b57d026;
  background: #fff; color: #111; }
@media (prefers-color-scheme: dark) { :root { --line: #9a9a9a; --mark: #8ab4f8; --soft: #8ab4f833;
  background: #121212; color: #f1f1f1; } }
body { font: 1rem/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
h2 { border-top: 2px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem .35rem 0; text-align: left;
  vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
[scope=col], td { overflow-wrap: normal; }
@media (max-width: 40rem) { .many { font-size: .85rem; hyphens: auto; }
  .many [scope=col], .many td, .many th { overflow-wrap: anywhere; } }
a { color: var(--mark); }
caption { text-align: left; padding-top: .75rem; }
code { font-size: .95em; }
svg { display: block; height: .9rem; width: 100%; }
.all { fill: var(--soft); } .truth { fill: var(--mark); }
"""
"""Of every page that is written, without anything from elsewhere."""
_WIDTH = 78
_FEW = 3
"""Columns that a phone is wide enough for."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_BEGINNING = re.compile(r"^(\d*)([-+=.)])")
"""What a line of Markdown can be a list by, or a heading."""
_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="deniable">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{digest}'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


class Heading(NamedTuple):
    """A heading; the title is of level 1."""

    level: int
    words: str


class Paragraph(NamedTuple):
    """Sentences."""

    words: str


class Items(NamedTuple):
    """A list; commands are typed as they stand, and what is open has a box to tick."""

    names: tuple[str, ...]
    commands: bool = False
    open: bool = False


class Rows(NamedTuple):
    """A table."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass
class Document:
    """Its parts, in their order; they are added."""

    language: str
    """As pages name it."""
    title: str
    """What it is called."""
    parts: list[Heading | Paragraph | Items | Rows] = field(default_factory=list)
    """What it has below its title."""

    def heading(self, level: int, words: str) -> None:
        """Add a heading."""
        self.parts.append(Heading(level, words))

    def say(self, *sentences: str) -> None:
        """Add a paragraph of those that say something."""
        if words := " ".join(each for each in sentences if each):
            self.parts.append(Paragraph(words))

    def items(self, names: Iterable[str], *, commands: bool = False, to_tick: bool = False) -> None:
        """Add a list."""
        self.parts.append(Items(tuple(names), commands, to_tick))

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Add a table."""
        self.parts.append(Rows(tuple(head), tuple(map(tuple, rows))))

    def html(self, back: tuple[str, str] | None = None) -> str:
        """As a page of its own, without scripts and without anything from elsewhere; `back` leads to another one, by
        what it is called and where it is."""
        body = [f"<h1>{escaped(self.title)}</h1>", *map(_as_html, self.parts)]
        if back:
            body.append(f'<p><a href="{escaped(back[1])}">{escaped(back[0])}</a></p>')
        return page(self.language, self.title, "\n".join(body))

    def markdown(self) -> str:
        """As Markdown, of the sort that has tables."""
        return "\n\n".join([f"# {_mark(self.title)}", *map(_as_markdown, self.parts)]) + "\n"

    def text(self) -> str:
        """As lines for a terminal."""
        title = plain(self.title)
        return "\n\n".join([f"{title}\n{'=' * len(title)}", *map(_as_text, self.parts)]) + "\n"


def page(language: str, title: str, body: str) -> str:
    """A whole page of HTML."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return _PAGE.format(language=escaped(language), title=escaped(title), digest=digest, style=_STYLE, body=body)


def escaped(words: str) -> str:
    """Words in HTML; what stands between backticks is typed."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(plain(words), quote=True))


def _mark(words: str) -> str:
    """Words in Markdown, in which nothing is a sign but the backticks around what is typed."""
    marked = "`".join(each if odd else _SPECIAL.sub(r"\\\1", each) for odd, each in _typed(plain(words).strip()))
    return _BEGINNING.sub(r"\1\\\2", marked)


def _typed(words: str) -> Iterable[tuple[bool, str]]:
    parts = words.split("`")
    if len(parts) % 2 == 0 or "``" in words:  # backticks of somebody's own: two are another sign, and end nothing
        return [(False, words)]
    return [(bool(place % 2), each) for place, each in enumerate(parts)]


def _as_html(part: Heading | Paragraph | Items | Rows) -> str:
    match part:
        case Heading(level, words):
            return f"<h{level}>{escaped(words)}</h{level}>"
        case Paragraph(words):
            return f"<p>{escaped(words)}</p>"
        case Items(names, commands, to_tick):
            box = "☐ " if to_tick else ""
            cells = [
                f"<code>{html.escape(plain(each))}</code>" if commands else box + escaped(each) for each in names
            ]
            return "\n".join(["<ul>", *(f"<li>{cell}</li>" for cell in cells), "</ul>"])
        case Rows(head, rows):
            top = "".join(f'<th scope="col">{escaped(each)}</th>' for each in head)
            lines = [
                "".join([f'<tr><th scope="row">{escaped(first)}</th>', *map(_cell, rest), "</tr>"])
                for first, *rest in rows
            ]
            sort = ' class="many"' if len(head) > _FEW else ""
            return "\n".join([f"<table{sort}>", *([f"<tr>{top}</tr>"] if any(head) else []), *lines, "</table>"])


def _cell(words: str) -> str:
    return f"<td>{escaped(words)}</td>"


def _as_markdown(part: Heading | Paragraph | Items | Rows) -> str:
    match part:
        case Heading(level, words):
            return f"{'#' * level} {_mark(words)}"
        case Paragraph(words):
            return _mark(words)
        case Items(names, commands, to_tick):
            box = "[ ] " if to_tick else ""
            return "\n".join(f"- `{plain(each)}`" if commands else f"- {box}{_mark(each)}" for each in names)
        case Rows(head, rows):
            cells = (
                [_SPECIAL.sub(r"\\\1", plain(cell)) for cell in row] for row in rows
            )  # a bar in code ends a cell
            lines = [head, ["---"] * len(head), *cells]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _as_text(part: Heading | Paragraph | Items | Rows) -> str:
    match part:
        case Heading(level, words):
            return f"{plain(words)}\n{('-' if level == 2 else '.') * len(plain(words))}"
        case Paragraph(words):
            return textwrap.fill(plain(words).replace("`", ""), _WIDTH)
        case Items(names, _, to_tick):
            return "\n".join(f"  {'[ ]' if to_tick else '-'} {plain(each)}" for each in names)
        case Rows(head, rows):
            cells = [[plain(cell) for cell in row] for row in rows]
            lines = laid_out(head, cells, [False] * len(head))
            return "\n".join(lines if any(head) else lines[2:])
