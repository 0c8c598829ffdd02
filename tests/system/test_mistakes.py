"""Mistakes say what to do: what somebody in their first hour gets wrong, and the message that they get.

Each message names the place, what was found there, and what is taken, or the nearest thing that would be right.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deniable
from deniable import Client, Collection, Credentials
from deniable.kinds import KINDS
from deniable_aggregator.planning.start import start
from support.commands import EDITOR, told
from support.commands import deniable as command

ALL = Collection.loads(start("own", list(KINDS), "metrics.toml"))
ONE = """\
[collection]
name = "own"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.0
[metrics.one]
kind = "boolean"
description = "d"
epsilon = 1.0
"""


def given(**options: Any) -> Callable[[], object]:
    """A client that is made with them."""
    rest: dict[str, Any] = {"consent": "granted", "segment": {"platform": "linux"}, "strict": True}
    return lambda: Client(**({"collection": ALL} | rest | options))


MADE = [
    (given(collection="metrics.toml"), r"collection: .*Collection\.load\('metrics\.toml'\), not a str"),
    (given(collection=None), "collection: takes a deniable.Collection, not a NoneType"),
    (given(segment=None), r"segment: .*such as {'platform': 'linux'}, not {}"),
    (given(segment="linux"), r"segment: .*such as {'platform': 'linux'}, not 'linux'"),
    (given(segment={"platfrom": "linux"}), r"segment: .*such as {'platform': 'linux'}, not {'platfrom'"),
    (given(segment={"platform": "linx"}), "segment: platform is one of linux, .*not 'linx'; did you mean 'linux'"),
    (given(consent="yes"), "consent: takes one of 'granted', 'paused', 'withheld'.*not 'yes'"),
    (given(consent=True), "consent: takes one of 'granted', .*not True"),
    (given(endpoint="http://127.0.0.1:8470"), "endpoint: takes host:port .*'127.0.0.1:8470', not 'http:"),
    (given(endpoint="localhost"), "endpoint: takes host:port, such as 'localhost:8470', not 'localhost'"),
    (given(endpoint=8470), "endpoint: takes host:port .*'127.0.0.1:8470', not a int"),
    (given(endpoint=""), "endpoint: takes host:port, such as '127.0.0.1:8470', not ''"),
    (given(endpoint="127.0.0.1:8470"), "state: name a file, or memoize of dark_mode .* would be forgotten"),
    (given(state="device.db"), r"state: 'device.db' .*absolute path, such as deniable.state_path\("),
    (given(state=Path(__file__).parent), r"system: not a state file but a directory.*such as deniable.state_path\("),
    (given(settings={"leeway": 0}), r"settings: takes a deniable\.Settings, not a dict"),
    (given(credentials="token"), r"credentials: takes a deniable\.Credentials, not a str"),
    (lambda: Credentials(certificate=b"x"), "credentials: a certificate goes with its key"),
    (lambda: deniable.state_path("a/b"), "name of a directory, which 'a/b' can not"),
    (lambda: Collection.load("nowhere.toml"), "nowhere.toml: can not be read: there is nothing of that name in /"),
]
RECORDED = [
    ("dark_mod", True, "no metric 'dark_mod'; did you mean 'dark_mode'"),
    ("dark_mode", "yes", "boolean takes True or False, not 'yes'"),
    ("dark_mode", 1, "boolean takes True or False, not 1"),
    ("browser", "crome", "category: 'crome'; did you mean 'chrome'"),
    ("browser", 3, "category: 3; known: chrome, edge, firefox, safari, other"),
    ("skill", "expret", "ordinal: 'expret'; did you mean 'expert'"),
    ("session_minutes", "3", "number takes a finite int or float, not '3'"),
    ("session_minutes", float("nan"), "number takes a finite int or float, not nan"),
    ("files_saved", -1, "count takes an int from 0 .*not -1"),
    ("load_ms", None, "distribution takes a finite int or float, not None"),
    ("features", "search", "takes a set of flags, not 'search'"),
    ("features", ["serch"], "flags: 'serch'; did you mean 'search'"),
    ("languages", ["pyton"], "set: 'pyton'; did you mean 'python'"),
    ("search_words", 3, "takes a text, not 3"),
    ("region", "europe/frnace", "tree: 'europe/frnace'; did you mean 'europe/france'"),
    ("keys", [1, 2], "vector takes a list of 8 numbers, not 2 of them"),
    ("theme_by_browser", "x", "theme_by_browser is answered from .*dark_mode and browser"),
]
WRITTEN = [
    ('name = "own"', 'name = "My App"', "collection.name: a name is a-z, .*not 'My App'"),
    ('epoch = "1d"', 'epoch = "1w"', "collection.epoch: unknown word '1w'; known: 1d, 1h, 7d"),
    ('owner = "telemetry@example.org"\n', "", "collection.owner: missing, such as owner = "),
    ("epoch = 1.0", "epoch = 0.5", "budget.epoch: .*spend 1 an epoch, more than the budget of 0.5: raise it"),
    ("[budget]", "[budget]\nlifetim = 3", "budget.lifetim: unknown key; did you mean 'lifetime'"),
    ('"boolean"', '"bool"', "metrics.one.kind: unknown word 'bool'; did you mean 'boolean'"),
    ('kind = "boolean"\n', "", 'metrics.one.kind: missing, such as kind = "boolean"'),
    ("epsilon = 1.0", "epsilno = 1.0", "metrics.one.epsilno: unknown key; did you mean 'epsilon'"),
    ("epsilon = 1.0", 'epsilon = "1.0x"', "metrics.one.epsilon: must be a number .*such as .*not '1.0x'"),
    ("epsilon = 1.0", "epsilon = 0", "metrics.one.epsilon: must be greater than 0, not 0"),
    ("epsilon = 1.0", "epsilon = 99", "metrics.one.epsilon: must be at most 32, not 99"),
    ('description = "d"\n', "", "metrics.one.description: missing, such as description = "),
    ('"d"', '"d"\nreduce = "sum"', "metrics.one.reduce: unknown word 'sum'; known: all, any, last, sample"),
    (
        '"d"',
        '"d"\nrobust = true',
        "metrics.one.robust: unknown key; it is a key of category, and this is a boolean",
    ),
    (
        '"d"',
        '"d"\nunit = "s"',
        "unit: unknown key; it is a key of number, count, distribution, and this is a boolean",
    ),
    ('"d"', '"d"\nmechanism = "laplace"', "metrics.one.mechanism: unknown word 'laplace'; known: auto, "),
    ('"d"', '"d"\nmemoize = "yes"', "metrics.one.memoize: must be true or false, not 'yes'"),
    ('"d"', '"d"\nexpires = "2027-01-01"', "metrics.one.expires: must be a date such as .*without quotes"),
    ("metrics.one", "metrics.One", "metrics.One: a name is a-z, .*not 'One'"),
    ("[metrics.one]", "[metric.one]", "metric: unknown key; did you mean 'metrics'"),
    ('"boolean"', '"category"', "metrics.one.values: missing, such as values = "),
    ('"boolean"', '"category"\nvalues = ["a", "a"]', "metrics.one.values: has 'a' twice"),
    ('"boolean"', '"category"\nvalues = ["a"]', "metrics.one.values: must be a list of 2 to .*not 1 of them"),
    ('"boolean"', '"number"', r"metrics.one.range: missing, such as range = \[0, 480\]"),
    ('"boolean"', '"number"\nrange = [5, 1]', "metrics.one.range: must go up: 5 is not below 1"),
    ('"boolean"', '"count"', 'metrics.one.max: .*add max, or privacy_unit = "event"'),
    (
        '"boolean"',
        '"set"\nvalues = ["a", "b"]\nmax_items = 5',
        "max_items: must be .* from 1 to 2, not 5",
    ),
    ('"boolean"', '"joint"\nof = ["a", "one"]', "metrics.one.of: there is no metric 'a'"),
    ("[budget]", "[budget", r"not TOML: .*line 5"),
]
TYPED = [
    ("chek metrics.toml", "invalid choice: 'chek' .*'check'"),
    ("check", "required: COLLECTION"),
    (
        "serve metrics.toml --http off --debug",
        "deniable serve: error: no option --debug; did you mean '--debug-view'",
    ),
    ("check metrics.toml --devics 9", "deniable check: error: no option --devics; did you mean '--devices'"),
    ("counters --la=7d", "no option --la; did you mean '--last'"),
    ("check nowhere.toml", "nowhere.toml: can not be read: there is nothing of that name in /"),
    ("check no/where.toml", "there is no directory .*/no: name another place, or mkdir -p .*/no$"),
    ("check .", r"\.: can not be read: it is a directory: name a file in it"),
    ("init metrics.toml/x", "metrics.toml/x: can not be reached: .*/metrics.toml is a file, and not a directory"),
    ("serve metrics.toml --data metrics.toml", "metrics.toml: can not be made: it is a file: name a directory"),
    ("serve metrics.toml --config nowhere.toml", "nowhere.toml: can not be read: there is nothing of that name"),
    ("serve metrics.toml --tls-cert no --tls-key no --check", "no: can not be read: there is nothing of that name"),
    ("estimates --token-file none", "none: can not be read: there is nothing of that name"),
    ("token new . --scope read", "the file of tokens can not be read: it is a directory"),
    ("token new no/tokens --scope read", "/no: can not be read: there is nothing of that name"),
    ("backup copy --data none", "none is no aggregator's: --data names the directory"),
    ("simulate metrics.toml --devices 5 --truth none", "none: can not be read: there is nothing of that name"),
    ("init metrics.toml", "metrics.toml: is there already.*give another FILE"),
    ("init other.toml --kinds bolean", "--kinds: 'bolean' .*did you mean boolean"),
    ("init other.toml --name Own", "collection.name: a name is a-z, .*not 'Own'"),
    ("serve metrics.toml --listen 18998", "--listen: takes HOST:PORT, such as 127.0.0.1:18998, not '18998'"),
    ("serve metrics.toml --listen localhost", "--listen: takes HOST:PORT, such as localhost:8470, not 'localhost'"),
    ("serve metrics.toml --listen 127.0.0.1:x", "--listen: takes HOST:PORT, such as 127.0.0.1:8470, not"),
    ("demo --listen 18998", "--listen: takes HOST:PORT, such as 127.0.0.1:18998, not '18998'"),
    ("serve metrics.toml --listen 127.0.0.1:70000", "--listen: takes HOST:PORT, such as 127.0.0.1:8470, not"),
    ("serve metrics.toml --http 18998", "--http: takes HOST:PORT, such as 127.0.0.1:18998, or off, not '18998'"),
    ("serve metrics.toml --http 8471", "--http: takes HOST:PORT, such as 127.0.0.1:8471, or off, not '8471'"),
    ("estimates --endpoint 127.0.0.1:1", "127.0.0.1:1: failed to connect.*is the aggregator running there"),
    ("estimates --endpoint http://127.0.0.1:1", "--endpoint: takes host:port .*'127.0.0.1:1', not 'http:"),
    ("serve metrics.toml --tokens none --check", "none: the file of tokens can not be read: there is nothing"),
    ("serve metrics.toml --keep 90", "--keep: takes a span such as 90d .*not '90'; did you mean 90d"),
    ("serve metrics.toml --keep editor=ever", "--keep: takes a span such as 90d .*not 'ever'"),
    ("serve metrics.toml --keep 90d --keep 30d", "--keep: says twice"),
    ("doubt metrics.toml 2026-11-12 --reason x", "deniable-data is no aggregator's: --data names the directory"),
    ("estimates --last 0", "--last: takes a whole number of epochs such as 7, or a span such as 7d .*not '0'"),
    ("estimates --last week", "--last: takes a whole number of epochs .*not 'week'; did you mean 1w"),
    ("estimates --format xml", "--format: invalid choice: 'xml' .*csv"),
    ("estimates --segment linux", "--segment takes NAME=VALUE, such as platform=linux, not 'linux'"),
    ("simulate metrics.toml", "required: --devices"),
    ("ledger nowhere.db", "nowhere.db: can not be read as a state file.*python -m deniable"),
]


@pytest.mark.parametrize(("make", "says"), MADE, ids=[says for _, says in MADE])
def test_what_a_client_is_given(make: Callable[[], object], says: str) -> None:
    """Raised where it is made, in a test and everywhere."""
    with pytest.raises((ValueError, TypeError, deniable.DeniableError), match=says):
        make()


def test_what_is_recorded() -> None:
    """Raised if strict."""
    with Client(ALL, consent="granted", segment={"platform": "linux"}, strict=True) as client:
        for metric, value, says in RECORDED:
            with pytest.raises(deniable.DeniableError) as raised:
                client.record(metric, value)
            assert re.search(says, str(raised.value)), f"{raised.value} does not say {says}"


@pytest.mark.parametrize(("right", "wrong", "says"), WRITTEN, ids=[says for _, _, says in WRITTEN])
def test_what_is_written_in_a_collection(right: str, wrong: str, says: str) -> None:
    """Told with the file, and the key from the top of it."""
    assert right in ONE
    with pytest.raises(deniable.CollectionError) as raised:
        Collection.loads(ONE.replace(right, wrong, 1), "metrics.toml")
    assert re.search(rf"^metrics\.toml: .*{says}", str(raised.value), re.MULTILINE), str(raised.value)


def test_what_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told in the last line of standard error, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.toml").write_text(ONE)
    for line, says in TYPED:
        ran = told(*line.split())
        assert (ran.returncode, ran.stdout) == (2, ""), line
        assert re.search(says, ran.stderr.splitlines()[-1]), f"{line}: {ran.stderr}"


def test_what_the_environment_says(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that nobody knows counts as withheld, and the log says so."""
    monkeypatch.setenv("DENIABLE_CONSENT", "yes")
    Client(ALL, consent="granted", segment={"platform": "linux"}).close()
    assert "DENIABLE_CONSENT='yes' is none of granted, paused, withheld: it counts as withheld" in caplog.text


def test_the_table_is_long_enough() -> None:
    """At least sixty mistakes."""
    assert len(MADE) + len(RECORDED) + len(WRITTEN) + len(TYPED) + 1 >= 60


def test_an_address_that_somebody_has_is_told_with_whose_it_may_be(tmp_path: Path) -> None:
    """Beside a demo that runs: which option has another address, of the port and of the page."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        for option in ("--listen", "--http"):
            free = ("--http", "off") if option == "--listen" else ("--listen", "127.0.0.1:0")
            found = command("serve", EDITOR, "--data", tmp_path / "data", *free, option, where)
            assert found.returncode == 2
            (line,) = found.stderr.splitlines()
            assert f"can not listen on {where}: it is taken, maybe by a demo or another deniable serve" in line
            assert f"; {option} HOST:PORT has another" in line
