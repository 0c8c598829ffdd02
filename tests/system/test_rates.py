"""How much a token may bring: the meter on a clock of the test's own, the lines that say it, and a fleet with the
real SDK that brings more, of which everything arrives in the end, once."""

from __future__ import annotations

import hashlib
import re
import time
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Client, Collection, Consent, Credentials, Settings
from deniable_aggregator.serving.rates import Meter, Rate, rate_of
from deniable_aggregator.serving.tokens import Tokens, grant_of
from deniable_aggregator.telling.remote import Reader
from support.commands import EDITOR, serving, told
from support.waiting import soon

COLLECTION = Collection.load(EDITOR)
SHA256 = hashlib.sha256(b"token").hexdigest()
SECOND = 10**9
RATES = st.builds(Rate, st.integers(1, 10**7 - 1), st.sampled_from("smh"), st.integers(1, 50))


@given(rate=RATES, workers=st.integers(1, 8), steps=st.lists(st.floats(0.0, 2.0), max_size=120))
def test_a_meter_lets_through_what_a_bucket_holds_and_never_more(
    rate: Rate, workers: int, steps: list[float]
) -> None:
    """Beside a bucket that is filled in exact fractions: by a worker's part of the rate, up to its part of the burst.
    A step is so many times what one batch takes."""
    unit = {"s": 1, "m": 60, "h": 3600}[rate.unit] * SECOND
    each = -(-unit * workers // rate.batches)
    held = most = Fraction(max(rate.burst // workers, 1))
    now = [12_345]
    meter = Meter(rate, workers, lambda: now[0])
    assert each * rate.batches >= unit * workers, "no worker has more than its part"
    for step in steps:
        waited = int(step * each)
        now[0] += waited
        held = min(most, held + Fraction(waited, each))
        assert meter.takes() is (held >= 1)
        held -= held >= 1


def test_it_says_to_all_the_same_how_long_to_wait() -> None:
    """As long as one batch takes, in whole seconds; and two at least, as where a worker is busy."""
    assert Meter(rate_of("100/s")).wait == timedelta(seconds=2)
    assert Meter(rate_of("7/m")).wait == timedelta(seconds=9)
    assert Meter(rate_of("10/h"), 4).wait == timedelta(minutes=24)


@pytest.mark.parametrize(
    ("text", "burst", "rate"),
    [
        ("100/s", None, Rate(100, "s", 1000)),
        ("100/s", "7", Rate(100, "s", 7)),
        ("60/m", None, Rate(60, "m", 10)),
        ("10/h", None, Rate(10, "h", 1)),
        ("9999999/h", "9999999", Rate(9_999_999, "h", 9_999_999)),
        ("9999999/s", None, Rate(9_999_999, "s", 9_999_999)),
    ],
)
def test_a_rate_is_so_many_batches_and_so_many_at_once(text: str, burst: str | None, rate: Rate) -> None:
    """What comes in ten seconds may come at once, unless it is said; and one at least."""
    assert rate_of(text, burst) == rate
    assert str(rate) == text


@pytest.mark.parametrize(
    "text", ["", "100", "0/s", "-1/s", "1.5/s", "100/d", "10000000/s", "1/s/s", "1 /s", "\u0661/s"]
)
def test_what_is_no_rate_is_refused(text: str) -> None:
    """With what would be one."""
    with pytest.raises(ValueError, match="such as 100/s, 600/m or 10/h"):
        rate_of(text)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (f"report rate=fast {SHA256}", "line 1: takes so many batches a second"),
        (f"report rate=1/s burst=0 {SHA256}", "line 1: takes how many batches may come at once"),
        (f"report burst=5 {SHA256}", "line 1: takes report or read"),
        (f"read rate=1/s {SHA256}", "line 1: rate= is for tokens that report"),
        (f"report {SHA256} rate=1/s", "line 1: rate=1/s limits a token where it stands before the hash"),
        (f"report {SHA256} rate=1/s burst=5", "rate=1/s and burst=5 limits a token"),
        (f"report rate=1/s {SHA256}\nreport rate=2/s {SHA256}", "name different rates, and it has one"),
        (f"report rate=1/s burst=2 {SHA256}\nreport rate=1/s {SHA256}", "name different rates, and it has one"),
    ],
)
def test_a_line_that_would_limit_nothing_is_refused(tmp_path: Path, lines: str, words: str) -> None:
    """A limit that somebody has written is kept, or the file is none."""
    (tmp_path / "tokens").write_text(f"{lines}\n")
    with pytest.raises(OSError, match=re.escape(words)):
        Tokens(tmp_path / "tokens")


@given(rate=RATES)
def test_what_is_written_of_a_rate_is_what_is_read(rate: Rate) -> None:
    """With all else that a line says."""
    line = f"report collections=a,b rate={rate} burst={rate.burst} expires=2027-03-01 {SHA256} the gateway"
    assert grant_of(line).rate == rate
    assert grant_of(line).line() == line


def test_a_rate_is_of_the_token_in_whichever_of_its_lines_it_stands(tmp_path: Path) -> None:
    """It has brought what it had brought when the file is read again; a token without one has no meter."""
    file = tmp_path / "tokens"
    other = hashlib.sha256(b"other").hexdigest()
    text = f"report collections=a {SHA256}\nreport collections=b rate=1/h burst=2 {SHA256}\nreport {other}\n"
    file.write_text(text)
    known = Tokens(file)

    def brought(token: str, times: int) -> list[bool]:
        return [known.bearer(token).wait() is None for _ in range(times)]

    assert brought("token", 3) == [True, True, False]
    assert all(brought("other", 100))
    assert len(known._meters) == 1
    for fresh, after in ((f"# more\n{text}", False), (text.replace("1/h", "2/h"), True), (f"report {other}\n", True)):
        file.write_text(fresh)
        known._looked = 0.0
        known.look()
        assert brought("token", 1) == [after]
    assert not known._meters


def test_a_rate_that_has_expired_limits_nothing(tmp_path: Path) -> None:
    """Neither what another line lets in, nor which rate that may name."""
    file = tmp_path / "tokens"
    for other in ("", "rate=100/s "):
        file.write_text(f"report rate=1/h burst=1 expires=2020-01-01 {SHA256}\nreport {other}{SHA256}\n")
        known = Tokens(file)
        assert [known.bearer("token").wait() for _ in range(3)] == [None] * 3


def test_a_token_with_a_rate_is_made_and_listed(tmp_path: Path) -> None:
    """Its burst is written, too: what a later version takes for granted changes nothing."""
    file = tmp_path / "tokens"
    made = told("token", "new", file, "--scope", "report", "--rate", "100/s", "--note", "the gateway")
    assert made.returncode == 0, made.stderr
    told("token", "new", file, "--scope", "report", "--rate", "60/m", "--burst", "5", "--expires", "90d")
    assert [line.split()[1:3] for line in file.read_text().splitlines()] == [
        ["rate=100/s", "burst=1000"], ["rate=60/m", "burst=5"],
    ]  # fmt: skip
    listed = told("token", "list", file).stdout.splitlines()
    assert listed[0].endswith("  report  all collections  100/s, 1000 at once  does not expire  the gateway")
    assert "  60/m, 5 at once  expires " in listed[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scope", "read", "--rate", "1/s"), "--rate goes with --scope report"),
        (("--scope", "report", "--burst", "5"), "--burst goes with --rate"),
        (("--scope", "report", "--rate", "fast"), "--rate takes so many batches a second, minute or hour"),
        (("--scope", "report", "--rate", "1/s", "--burst", "0"), "takes how many batches may come at once"),
    ],
)
def test_a_mistake_makes_no_token(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """It is said in a line."""
    shown = told("token", "new", tmp_path / "tokens", *options)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert words in shown.stderr
    assert not (tmp_path / "tokens").exists()


class Device:
    """A device whose time goes on when somebody says so: its waits are an hour long, and the test's are not."""

    def __init__(self, endpoint: str, token: str) -> None:
        self._later = 0.0
        self.client = Client(
            COLLECTION, endpoint=endpoint, consent=Consent.GRANTED, segment={"platform": "linux"},
            credentials=Credentials(token=token), settings=Settings(clock=lambda: time.time() + self._later),
        )  # fmt: skip

    def sends(self, times: int = 1) -> str:
        """What has become of its batch, so many of its tries later: the words in its health counts."""
        self.client.flush(0.0)
        soon(lambda: sum(self.client.status().counts.values()) > times)
        return ", ".join(sorted(set(self.client.status().counts) - {"answered"}))

    def waits(self) -> None:
        """Its time goes on for twice as long as it was asked to wait, which is the most that it does."""
        self._later += 7200.0

    def has_arrived(self) -> bool:
        """Whether its batch is stored; if that was refused once more, before the file was read, it waits again."""
        refused = self.client.status().counts["not taken"]
        self.client.flush(0.0)
        soon(lambda: not (now := self.client.status()).waiting or now.counts["not taken"] > refused)
        if self.client.status().waiting:
            self.waits()
        return not self.client.status().waiting


def test_a_fleet_that_brings_more_than_its_token_may_arrives_in_the_end_once(tmp_path: Path) -> None:
    """One of six devices comes at once to each of two workers; the others are told to come back, keep their batch,
    and bring it when there is room: here, since somebody raises the rate. Another application's devices notice
    nothing, and nothing that is written names the token."""
    file, log = tmp_path / "tokens", tmp_path / "log"
    other = hashlib.sha256(b"other").hexdigest()
    file.write_text(f"report rate=1/h burst=2 {SHA256} the gateway\nreport {other}\nread {other}\n")
    with serving(tmp_path / "data", EDITOR, "--tokens", file, "--workers", "2", log=log) as endpoint:
        devices = [Device(endpoint, "token") for _ in range(6)]
        for device in devices:
            device.client.record("dark_mode", True)
        words = [device.sends() for device in devices]
        refused = [device for device, word in zip(devices, words, strict=True) if word != "stored"]
        assert {*words} == {"stored", "not taken"}
        assert 4 <= len(refused) <= 5, "one of each worker that they have come to"
        assert all(device.client.status().waiting == 1 for device in refused)
        unmetered = Device(endpoint, "other")
        unmetered.client.record("dark_mode", True)
        assert unmetered.sends() == "stored"
        file.write_text(f"report rate=100/s {SHA256} the gateway\nreport {other}\nread {other}\n")

        for device in refused:
            device.waits()
            soon(device.has_arrived)
        for device in (*devices, unmetered):
            assert device.client.status().counts["stored"] == 1
            device.client.close()
        with Reader(endpoint, credentials=Credentials(token="other")) as reader:
            (row,) = reader.estimates("dark_mode", last="7d")
        assert row["reports"] == 7
    for word in ("token", SHA256[:12], "gateway"):
        assert word not in log.read_text().replace("--tokens", "")
