"""The table of settings: every one of `deniable serve`, by the names that it has."""

from __future__ import annotations

from tools.settings_table import PAGE, page, table

from deniable_aggregator.commands import _parser


def test_the_page_has_the_table_of_today() -> None:
    """A setting that is new, or that has another meaning, is in the docs."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tools.settings_table --write`"


def test_every_option_is_in_it() -> None:
    """Whatever help shows."""
    lines = list(table())[2:]
    options = {line.split("`")[1] for line in lines}
    assert {"--listen", "--tls-cert", "--config", "COLLECTION"} <= options
    assert len(options) == len(lines)
    assert all(line.count("DENIABLE_SERVE_") == 1 for line in lines)
    found = _parser().parse_args(["serve", "a.toml"])
    assert len(lines) == len({*vars(found)} - {"run"})
