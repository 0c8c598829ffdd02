"""Logging in at the page, as people do: with a browser, a keyboard, a screen reader; and over TLS from elsewhere."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from deniable import Collection
from deniable_aggregator.serving.access import Access
from support.accessible import violations
from support.commands import EDITOR, deniable, told
from support.endpoints import TLS
from support.site import Running, browser, running
from support.template import started
from support.waiting import PATIENCE, soon
from system.test_renewal import put
from system.test_tokens import made

OWN = Collection.load(EDITOR)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tokens."""
    return tmp_path_factory.mktemp("log-in") / "tokens"


@pytest.fixture(scope="module")
def token(file: Path) -> str:
    """One that reads."""
    return made(file, "--scope", "read")


@pytest.fixture(scope="module")
def aggregator(file: Path, token: str) -> Iterator[Running]:
    """An aggregator whose page is for who has it."""
    assert token
    with running(OWN, access=Access(tokens=file)) as guarded:
        yield guarded


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """A browser."""
    with browser() as begun:
        yield begun


@pytest.fixture
def page(chrome: Browser, aggregator: Running) -> Iterator[Page]:
    """A page of a browser that nobody has logged in with."""
    context = chrome.new_context(base_url=aggregator.url)
    yield context.new_page()
    context.close()


def log_in(page: Page, token: str) -> None:
    """With the keyboard alone: the field is the first thing of the form."""
    page.get_by_label("Token").focus()
    page.keyboard.type(token)
    page.keyboard.press("Enter")


def test_a_person_logs_in_and_out(page: Page, token: str) -> None:
    """They come to the page that they asked for; what they typed is nowhere; and afterwards nothing is shown."""
    page.goto("/c/editor/dark_mode?last=7")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    log_in(page, "not a token")
    expect(page.get_by_role("alert")).to_contain_text("is not known")
    log_in(page, token)
    expect(page.get_by_role("heading", level=1)).to_have_text("dark_mode")
    expect(page.locator("#freshness[data-state=live]")).to_be_visible()
    assert page.url.endswith("/c/editor/dark_mode?last=7")
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""
    assert token not in page.content() + page.evaluate("JSON.stringify([{...localStorage}, history.state])")
    page.get_by_role("button", name="Log out").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    assert page.context.cookies() == []
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def test_a_page_that_is_open_asks_again_when_its_token_has_gone(page: Page, file: Path) -> None:
    """By itself, within a few seconds: what was shown is not shown any more."""
    gone = made(file, "--scope", "read", "--note", "goes")
    page.goto("/")
    soon(lambda: _in(page, gone))
    expect(page.locator("#freshness[data-state=live]")).to_be_visible()
    (line,) = (line for line in told("token", "list", file).stdout.splitlines() if line.endswith("goes"))
    assert told("token", "revoke", file, line.split()[0]).returncode == 0
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def _in(page: Page, token: str) -> bool:
    """Whether a token that is new is known by now."""
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        log_in(page, token)
    return answered.value.status == HTTPStatus.SEE_OTHER


def test_axe_finds_nothing_on_the_form(page: Page) -> None:
    """In light and dark, on a phone, before and after a mistake; and nothing is cut off."""
    schemes: list[Literal["dark", "light"]] = ["light", "dark"]
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto("/login")
    for _ in range(2):
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            other = {"dark": "light", "light": "dark"}[scheme]
            expect(page.get_by_role("button", name=f"Show in {other} colours")).to_be_visible()
            assert violations(page) == [], scheme
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        log_in(page, "not a token")
        expect(page.get_by_role("alert")).to_be_visible()


def test_the_form_works_without_scripts(chrome: Browser, aggregator: Running, token: str) -> None:
    """It is a form."""
    context = chrome.new_context(base_url=aggregator.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/health")
    log_in(page, token)
    page.wait_for_url("**/health")
    context.close()


@pytest.fixture
def elsewhere(tmp_path: Path, file: Path) -> Iterator[str]:
    """The page of an aggregator for other machines, by TLS, whose certificate can be renewed."""
    pair = tmp_path / "own.pem", tmp_path / "own.key"
    put("server", *pair)
    options = ("--tls-cert", pair[0], "--tls-key", pair[1], "--tokens", file, "--data", tmp_path / "data")
    program = started("serve", EDITOR, *options, "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0")
    with program.stdout:
        try:
            assert " on " in program.stdout.readline()
            yield program.stdout.readline().strip().removeprefix("the page is at ").removesuffix("/")
        finally:
            program.kill()
            program.wait(PATIENCE)


def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(TLS / "ca.pem"))


def test_with_a_certificate_and_tokens_the_page_may_be_for_other_machines(
    elsewhere: str, tmp_path: Path, token: str
) -> None:
    """By TLS alone, as the certificate is when somebody connects, and to who has a token."""
    assert elsewhere.startswith("https://localhost:")
    asked = urllib.request.Request(f"{elsewhere}/api/v1/health", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=PATIENCE, context=_trusting()) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{elsewhere}/api/v1/health", timeout=PATIENCE, context=_trusting())
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(elsewhere.replace("https", "http"), timeout=PATIENCE)
    assert _shown(elsewhere) == "server"
    put("client", tmp_path / "own.pem", tmp_path / "own.key")
    soon(lambda: _shown(elsewhere) == "client")


def _shown(url: str) -> str:
    """Whose certificate somebody sees who connects, and names no host."""
    host, _, port = url.removeprefix("https://").partition(":")
    found = ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((host, int(port)), ca_certs=str(TLS / "ca.pem")))
    (name,) = (
        each for each in ("server", "client") if ssl.PEM_cert_to_DER_cert((TLS / f"{each}.pem").read_text()) == found
    )
    return name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--http", "0.0.0.0:0", "--tokens", "{tokens}"),
            "--http 0.0.0.0:0 shows the page to other machines: --tls-cert",
        ),
        (("--proxy-header", "X-User"), "with --tokens FILE"),
        (("--proxy", "10.0.0.7"), "with --tokens FILE"),
        (("--tokens", "{tokens}", "--proxy", "10.0.0.7"), "--proxy goes with --proxy-header NAME"),
        (
            ("--tokens", "{tokens}", "--proxy-header", "X-User", "--proxy", "proxy"),
            "takes an address such as 10.0.0.7",
        ),
    ],
)
def test_what_does_not_go_together_is_said(
    tmp_path: Path, file: Path, arguments: tuple[str, ...], words: str
) -> None:
    """Before anything listens."""
    given = [each.format(tokens=file) for each in arguments]
    shown = told("serve", EDITOR, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", *given)
    assert shown.returncode == 2
    assert words in shown.stderr


def test_a_check_says_who_would_see_the_page(tmp_path: Path, file: Path, token: str) -> None:
    """And how."""
    assert token
    tls = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key", "--http", "0.0.0.0:8471")
    shown = deniable("serve", EDITOR, "--check", "--data", tmp_path / "data", "--tokens", file, *tls)
    assert "would show the page at https://0.0.0.0:8471/ to whoever logs in with a token that reads" in shown.stdout
    shown = deniable("serve", EDITOR, "--check", "--data", tmp_path / "data")
    assert "would show the page at http://127.0.0.1:8471/ to everybody who reaches it" in shown.stdout
