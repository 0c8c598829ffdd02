"""A real Prometheus at an aggregator with tokens: with one, as deploy/prometheus/prometheus.yml says how."""

from __future__ import annotations

import re
from pathlib import Path

from support.commands import EDITOR
from support.ports import free_port
from support.prometheus import DEPLOY, promtool, query, scraping, served
from support.waiting import soon
from system.test_tokens import made

AUTHORIZATION = re.compile(r"^    # (authorization:)\n    # (  credentials_file: )deniable.token$", re.MULTILINE)


def test_prometheus_scrapes_with_a_token(tmp_path: Path) -> None:
    """By the lines of the configuration that stand there as a comment; promtool takes them, too."""
    tokens, token = tmp_path / "tokens", tmp_path / "deniable.token"
    token.write_text(made(tokens, "--scope", "read", "--note", "prometheus"))
    (tmp_path / "none").touch()
    (tmp_path / "prometheus").mkdir()
    text = (DEPLOY / "prometheus.yml").read_text()
    assert AUTHORIZATION.search(text)
    config = tmp_path / "deploy.yml"
    own = AUTHORIZATION.sub(rf"    \1\n    \2{token}", text).replace("  - rules.yml\n  - alerts.yml", "  []")
    config.write_text(own)
    checked = promtool("check", "config", config)
    assert checked.returncode == 0, checked.stderr
    http = f"127.0.0.1:{free_port()}"
    with served(tmp_path / "data", http, EDITOR, "--tokens", tokens):
        for name, up in (("deniable.token", 1.0), ("none", 0.0)):
            said = {"authorization": {"credentials_file": str(tmp_path / name)}}
            directory = tmp_path / "prometheus" / name
            directory.mkdir()
            with scraping(directory, [http], **said) as address:
                soon(lambda: [value for _, value in query(address, "up")] == [up])  # noqa: B023 - it is asked at once
                metrics = query(address, "deniable_store_up")
                assert bool(metrics) is bool(up)
