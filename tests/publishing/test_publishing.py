"""The files of a site, from answers that are at hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable_aggregator.notice import Language
from deniable_aggregator.publishing import Published, site, told
from deniable_aggregator.telling.tables import COLUMNS, Table
from deniable_aggregator.telling.terminal import estimates
from support.collection_files import head, metric
from support.commands import told as command

HOSTILE = "<script>alert(1)</script>&\"'\u202e"
DAY = date(2026, 11, 19)
START = datetime(2026, 11, 13, tzinfo=UTC)


def row(**own: Any) -> dict[str, Any]:
    """A row of a share that is known."""
    known = {
        "collection": "one", "metric": "own", "segment": "", "start": START, "end": START.replace(day=20),
        "series": "shares", "key": "yes", "value": 0.25, "low": 0.2, "high": 0.3, "std_error": 0.02,
        "reports": 12_345, "effective_reports": 12_345.0, "confidence": 0.95, "target": "population",
        "measure": "share", "text": "25.00%", "low_text": "20.00%", "high_text": "30.00%", "cut": 0.25,
        "too_few": False, "raw_text": "25.00%",
    }  # fmt: skip
    return dict.fromkeys(COLUMNS) | {"parent": "", "unit": "", "note": ""} | known | own


def published(name: str, *rows: dict[str, Any], simulated: bool = False) -> Published:
    """A collection of one metric, and what is published of it."""
    asked = Collection.loads(head(name, 1) + metric("own", "boolean", HOSTILE))
    return Published(asked, told(Table(rows)), {}, simulated)


def test_words_are_words() -> None:
    """Whatever a collection, an answer or an operator's note says."""
    files = site([published("one", row(key=HOSTILE, note=HOSTILE))], Language.of("en"), DAY)
    for name in ("index.html", "one-notice.html"):
        assert "<script" not in files[name]
        assert "\u202e" not in files[name]
    assert files["index.html"].count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;\\u202e") == 3


def test_numbers_are_written_as_in_the_language_and_days_said() -> None:
    """The same digits; the last day of the window, and not the one after."""
    page = site([published("one", row())], Language.of("de"), DAY)["index.html"]
    for says in ("25,00%", "20,00% bis 30,00%", "12.345 Meldungen, von 2026-11-13 bis 2026-11-19.", 'lang="de"'):
        assert says in page
    page = site([published("one", row())], Language.of("en"), DAY)["index.html"]
    assert "Of all intervals here, 95% hold the truth. Written on 2026-11-19." in page
    assert '<rect class="all" x="20.0%" y="25%" width="10.0%" height="50%"/>' in page
    assert "simulated" not in page


def test_simulated_devices_are_called_that() -> None:
    """Of a store that was begun for them."""
    page = site([published("one", row(), simulated=True)], Language.of("en"), DAY)["index.html"]
    assert "These devices are simulated: the numbers are about nobody." in page


def test_several_collections_have_a_first_page() -> None:
    """Which leads to each; of one alone it is its own."""
    files = site([published("one", row()), published("two", row())], Language.of("en"), DAY)
    pages = {f"{name}{end}" for name in ("one", "two") for end in (".html", "-notice.html", ".csv", ".json")}
    assert files.keys() == pages | {"index.html"}
    assert '<a href="one.html">one</a>' in files["index.html"]
    assert '<a href="two.html">The answers</a>' in files["two-notice.html"]


@pytest.mark.parametrize(
    ("names", "says"), [(("one", "one"), "two collections of one name"), (("one", "index"), "would be the first one")]
)
def test_no_page_is_written_over_by_another(names: tuple[str, str], says: str, tmp_path: Path) -> None:
    """Where two would have one name, nobody is asked and nothing is written."""
    files = [tmp_path / f"{place}.toml" for place in range(2)]
    for file, name in zip(files, names, strict=True):
        file.write_text(head(name, 1) + metric("own", "boolean", "A question"))
    refused = command("publish", tmp_path / "site", *files, "--endpoint", "127.0.0.1:1")
    assert (refused.returncode, says in refused.stderr) == (2, True)
    assert not (tmp_path / "site").exists()


def test_what_is_too_few_to_tell_has_no_number() -> None:
    """In no form."""
    few = row(too_few=True, text="too few to tell", value=1.58, raw_text="158.20%", low=0.0, high=1.0)
    found = told(Table([few]))
    assert (found[0]["value"], found[0]["std_error"], found[0]["raw_text"]) == (None, None, "too few to tell")
    files = site([published("one", few)], Language.of("en"), DAY)
    assert "158" not in files["index.html"] + files["one.csv"] + files["one.json"]
    assert 'class="truth"' not in files["index.html"]


def test_an_estimate_is_drawn_where_its_number_is_told() -> None:
    """Noise has taken it below 0, and 0 is told: on a page and at a terminal the mark begins the line,
    and not apart from it. Raw, it stands where it came out."""
    numbers: dict[str, Any] = {"value": -200.0, "cut": 0.0, "low": 0.0, "high": 300.0, "measure": "quantity"}
    texts = {"text": "0", "low_text": "0", "high_text": "300", "raw_text": "-200"}
    below = row(**numbers, **texts)
    page = site([published("one", below)], Language.of("en"), DAY)["index.html"]
    assert '<rect class="all" x="33.33%"' in page
    assert '<rect class="truth" x="33.33%"' in page
    assert "  ●───" in estimates(Table([below]))
    assert "  ●   " in estimates(Table([below]), raw=True)
