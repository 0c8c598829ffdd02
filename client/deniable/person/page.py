"""One page of plain HTML that shows what the commands show: no script, nothing from elsewhere, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence

from deniable.device.transcript import Entry
from deniable.person import consent, ledger, transcript
from deniable.person.device import Device, Question
from deniable.person.words import command, counted, plain, when

__all__ = ["page"]

_MOST = 1000
"""Of so many reports a page shows all; of more the newest, and says so."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
h2 { border-top: 2px solid; margin-top: 2.5rem; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid; padding: .35rem .5rem .35rem 0; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
[scope=col], td { overflow-wrap: normal; }
ol { padding-left: 0; list-style: none; }
li { margin-bottom: 1rem; }
li p { margin: 0; }
code { font-size: .95em; }
"""

_HEAD = (
    '<tr><th scope="col">question</th><th scope="col" class="number">answers</th>'
    '<th scope="col" class="number">epsilon</th><th scope="col">told at most</th></tr>'
)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{digest}'">
<title>What this device has told</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>What this device has told</h1>
<p>{explained}</p>
{devices}
</main>
</body>
</html>
"""


def page(devices: Sequence[Device]) -> str:
    """The page of some state files."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    shown = "\n".join(_device(device) for device in devices)
    return _PAGE.format(digest=digest, style=_STYLE, explained=_text(transcript.EXPLAINED), devices=shown)


def _text(text: object) -> str:
    """A text that is nothing but text, whatever it says, and does not turn around what is beside it."""
    return html.escape(plain(text), quote=True)


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n".join(f"<p>{_text(text)}</p>" for text in texts)


def _code(command: str) -> str:
    return f"<code>{_text(command)}</code>"


def _device(device: Device) -> str:
    this = command(device.path)
    return "\n".join(
        [
            "<section>",
            f"<h2>{_code(str(device.path))}</h2>",
            _paragraphs(
                [
                    *consent.lines(device),
                    f"{counted(device.waiting, 'batch', 'batches')} of reports here, not acknowledged yet.",
                ]
            ),
            "<h3>How to stop</h3>",
            f"<p>To collect and send nothing from now on: {_code(f'{this} consent withheld')}</p>",
            f"<p>To erase, too, what this device keeps of you: {_code(f'{this} forget')}</p>",
            "<h3>What it cost</h3>",
            *_costs(device),
            "<h3>What was sent</h3>",
            *_sent(device),
            "</section>",
        ]
    )


def _costs(device: Device) -> list[str]:
    if not device.questions:
        return _nothing(ledger.lines(device))
    return [
        "<table>",
        _HEAD,
        *map(_cost, device.questions),
        "</table>",
        _paragraphs([ledger.EXPLAINED, ledger.total(device), *ledger.budgets(device)]),
    ]


def _nothing(lines: list[str]) -> list[str]:
    return [_paragraphs(lines)]


def _cost(own: Question) -> str:
    name = f"{_text(own.metric)}" + (f": {_text(own.words)}" if own.words else "")
    return (
        f'<tr><th scope="row">{name}</th><td class="number">{_text(own.answered)}</td>'
        f'<td class="number">{own.epsilon:.6g}</td><td>{_text(own.telling)}</td></tr>'
    )


def _sent(device: Device) -> list[str]:
    entries = device.entries
    if not entries:
        return _nothing(transcript.lines(device))
    shown, this = entries[: -_MOST - 1 : -1], command(device.path)
    more = len(entries) - len(shown)
    older = [f"{counted(more, 'older report')}: {this} transcript shows all."] if more else []
    return [
        _paragraphs([f"{counted(len(shown), 'report')}, the newest first."]),
        "<ol>",
        *map(_entry, shown),
        "</ol>",
        _paragraphs(older),
    ]


def _entry(entry: Entry) -> str:
    fate = transcript.FATES.get(entry.fate, entry.fate)
    return (
        f"<li><p>{_text(when(entry.start, entry.seconds))}, {_text(entry.metric)}: "
        f"<strong>{_text(entry.answer)}</strong></p>"
        f"<p>{_text(fate)}; {_text(transcript.cost(entry))}</p><p>{_text(entry.conclusion)}</p></li>"
    )
