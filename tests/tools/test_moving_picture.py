"""README's picture: it is what the command draws, from real noise and real intervals."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from tools.moving_picture import DEVICES, FILE, SHARE, drawn, frames


def test_the_picture_is_what_the_command_draws() -> None:
    """Mechanism, estimator and drawing are those of today."""
    assert FILE.read_text(encoding="utf-8") == drawn(*frames()), "run `python -m tools.moving_picture --write`"


def test_intervals_narrow_around_the_truth() -> None:
    """Each holds it, as 95% do, and ten times as many devices make them a third as wide."""
    _, told = frames()
    assert [frame.devices for frame in told] == list(DEVICES)
    assert all(frame.low <= SHARE <= frame.high for frame in told)
    widths = {frame.devices: frame.high - frame.low for frame in told}
    assert 2.8 < widths[1_000] / widths[10_000] < 3.5


def test_the_picture_can_be_read_and_stands_still_on_request() -> None:
    """It has a title, words for those who do not see it, colours for the dark, and a frame without motion."""
    text = FILE.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    told = {each.tag.rpartition("}")[2]: each.text or "" for each in root}
    assert told["title"]
    assert str(DEVICES[0]) in told["desc"]
    assert all(f"prefers-{word}" in told["style"] for word in ("reduced-motion", "color-scheme:dark"))
    assert not any(word in text for word in ("<script", "href"))
