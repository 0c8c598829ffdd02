"""What `deniable serve` is told elsewhere than by its flags, and what it says that it would do."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from deniable_aggregator.commands import _parser
from deniable_aggregator.commands._command import UsageError
from support.aggregator_store import place
from support.commands import EDITOR, serving, told
from support.endpoints import TLS

FILE = """
collections = ["collections"]
listen = "127.0.0.1:7000"
http = "off"
workers = 3
simulated = true
keep = ["90d", "editor=30d"]
tls_cert = "own.pem"
"""


def read(*words: str | Path) -> argparse.Namespace:
    """What a command line comes to."""
    return _parser().parse_args(["serve", *map(str, words)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Settings."""
    path = tmp_path / "serve.toml"
    path.write_text(FILE)
    return path


def test_a_file_says_what_flags_do_not(file: Path) -> None:
    """Each as its flag would, with paths that begin where the file is."""
    found = read("--config", file)
    assert found.collections == [file.parent / "collections"]
    assert (found.listen, found.http, found.workers, found.simulated) == ("127.0.0.1:7000", None, 3, True)
    assert found.keep == [("", 90 * 86_400), ("editor", 30 * 86_400)]
    assert found.tls_cert == file.parent / "own.pem"


def test_flags_come_first_then_the_environment_then_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is said several times is what the first of them says: nothing is put together of two."""
    monkeypatch.setenv("DENIABLE_SERVE_CONFIG", str(file))
    monkeypatch.setenv("DENIABLE_SERVE_WORKERS", "4")
    monkeypatch.setenv("DENIABLE_SERVE_LISTEN", "127.0.0.1:7001")
    monkeypatch.setenv("DENIABLE_SERVE_SIMULATED", "no")
    found = read("mine.toml", "--listen=127.0.0.1:7002", "--keep", "10d")
    assert found.collections == [Path("mine.toml")]
    assert (found.listen, found.workers, found.simulated) == ("127.0.0.1:7002", 4, False)
    assert found.keep == [("", 10 * 86_400)]


def test_what_can_not_be_said_beside_a_flag_is_not_heard(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a store there is one, and who says which on the command line means it."""
    monkeypatch.setenv("DENIABLE_SERVE_REDIS", "redis://:secret@127.0.0.1/0")
    assert read("--config", file).redis == "redis://:secret@127.0.0.1/0"
    found = read("--config", file, "--data", "here")
    assert (found.redis, found.data) == (None, Path("here"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lisen = 'a'", "lisen: there is no such setting; did you mean 'listen'?"),
        ("workers = 0", "workers: must be at least 1"),
        ("workers = [1]", "workers: takes one value, not [1]"),
        ("workers = true", "workers: takes one value, not True"),
        ("http = '0.0.0.0'", "http: takes HOST:PORT"),
        ("simulated = 'perhaps'", "simulated: takes true or false, not 'perhaps'"),
        ("keep = '90d'", "keep: takes a list"),
        ("keep = ['soon']", "keep: "),
        ("collections = []", "collections: takes a list"),
        ("grace = 'long'", "grace: "),
        ("config = 'other.toml'", "config: there is no such setting"),
        ("listen", "is no TOML"),
    ],
)
def test_a_mistake_in_a_file_names_the_place(tmp_path: Path, text: str, words: str) -> None:
    """The file, the setting, and what is taken; also where a flag says otherwise."""
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        read("--config", file, EDITOR, "--listen", "127.0.0.1:1", "--workers", "1")
    assert str(refused.value).startswith(f"{file}: {words}")


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("DENIABLE_SERVE_LISEN", "a", "there is no such setting; did you mean 'DENIABLE_SERVE_LISTEN'?"),
        ("DENIABLE_SERVE_WORKERS", "many", "must be at least 1, a whole number, not 'many'"),
        ("DENIABLE_SERVE_INSECURE", "maybe", "takes true or false, not 'maybe'"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    variable: str, text: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that was meant as a setting is passed over."""
    monkeypatch.setenv(variable, text)
    with pytest.raises(UsageError) as refused:
        read(EDITOR)
    assert str(refused.value) == f"{variable}: {words}"


def test_who_serves_by_a_file_serves(tmp_path: Path) -> None:
    """A file that is not there is told; one that is there is what is served by."""
    missing = told("serve", "--config", tmp_path / "none.toml")
    assert missing.returncode == 2
    assert "none.toml" in missing.stderr
    (tmp_path / "serve.toml").write_text(f"collections = ['{EDITOR}']\nworkers = 2\n")
    with serving(tmp_path / "data", "--config", tmp_path / "serve.toml") as endpoint:
        assert endpoint.startswith("127.0.0.1:")


class TestCheck:
    """`--check` says what would be done, and does none of it."""

    def test_it_says_what_would_be_done(self, tmp_path: Path) -> None:
        """Collections, where and how, for whom, the store and the page; a store is not begun by it."""
        found = told("serve", EDITOR, "--data", tmp_path / "data", "--check")
        assert (found.returncode, found.stderr) == (0, "")
        assert found.stdout.splitlines() == [
            "would serve editor, version 0: 4 metrics",
            "would take reports and questions on 127.0.0.1:8470, in the clear, from everybody who reaches it",
            f"would begin a store in {tmp_path / 'data'}",
            "would show the page at http://127.0.0.1:8471/ to everybody who reaches it",
        ]
        assert not (tmp_path / "data").exists()

    @pytest.mark.parametrize("tokens", [False, True])
    def test_whom_it_lets_in(self, tmp_path: Path, *, tokens: bool) -> None:
        """Who shows a certificate, and a token where both are asked for."""
        (tmp_path / "tokens").write_text(f"report {'0' * 64}\n")
        whose = ("--tls-client-ca", TLS / "ca.pem", *(("--tokens", tmp_path / "tokens") if tokens else ()))
        keys = "--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key"
        found = told("serve", EDITOR, "--data", tmp_path / "data", "--check", *keys, *whose)
        more = f" and has a token of {tmp_path / 'tokens'}" if tokens else ""
        assert f", from whoever shows a certificate of {TLS / 'ca.pem'}{more}\n" in found.stdout

    def test_a_directory_that_is_made_before_its_store(self, tmp_path: Path) -> None:
        """As volumes are, which may have something in them: a store is begun there, and not by looking."""
        (tmp_path / "lost+found").mkdir()
        found = told("serve", EDITOR, "--data", tmp_path, "--check", "--http", "off")
        assert (found.returncode, found.stderr) == (0, "")
        assert f"would begin a store in {tmp_path}\n" in found.stdout
        assert [each.name for each in tmp_path.iterdir()] == ["lost+found"]

    def test_a_directory_with_the_files_of_others(self, tmp_path: Path) -> None:
        """No store would be begun there, and none is: nothing of an aggregator is left."""
        (tmp_path / "thesis.tex").touch()
        for more in ("--check",), ("--listen", "127.0.0.1:0"):
            found = told("serve", EDITOR, "--data", tmp_path, "--http", "off", *more)
            assert found.returncode == 2
            assert "no aggregator's (thesis.tex), and a store is begun in" in found.stderr
        assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]

    def test_a_store_that_is_served_can_be_looked_at(self, tmp_path: Path) -> None:
        """An operator checks a change before the restart, while devices report."""
        with serving(tmp_path / "data", EDITOR):
            found = told("serve", EDITOR, "--data", tmp_path / "data", "--check", "--http", "off")
            other = told("serve", EDITOR, "--data", tmp_path / "data", "--check", "--shards", "3")
            simulated = told("serve", EDITOR, "--data", tmp_path / "data", "--check", "--simulated")
        assert f"would go on with a store at {tmp_path / 'data'}, which is reached" in found.stdout
        assert (other.returncode, "begun with 1 shards" in other.stderr) == (2, True)
        assert (simulated.returncode, "begun for real devices" in simulated.stderr) == (2, True)

    def test_nothing_is_written_into_a_store(self, tmp_path: Path) -> None:
        """Which may be another one than was meant."""
        with place(tmp_path) as here, here.raw() as raw:
            raw.flushall()
            found = told("serve", EDITOR, "--redis", here.url, "--check")
            assert "would begin a store at" in found.stdout
            assert raw.dbsize() == 0

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--redis", "redis://user:secret@127.0.0.1:1/0"), "127.0.0.1:1"),
            (("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "client.key"), "the key is not the certificate's"),
            (("--tokens", TLS / "README.md"), "line 1: takes report or read"),
            (("--listen", "0.0.0.0:1"), "in the clear"),
            (("--http", "off", "--debug-view"), "it needs --http HOST:PORT"),
            (("nowhere.toml",), "nowhere.toml"),
        ],
    )
    def test_what_would_keep_it_from_serving_is_told(
        self, tmp_path: Path, arguments: tuple[str | Path, ...], words: str
    ) -> None:
        """As it would be when it starts, in a line, and without a password."""
        where = () if "--redis" in arguments else ("--data", tmp_path / "data")
        found = told("serve", EDITOR, "--check", *where, *arguments)
        assert found.returncode == 2
        assert words in found.stderr.splitlines()[-1]
        assert "secret" not in found.stdout + found.stderr
