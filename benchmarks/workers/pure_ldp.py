"""What pure-ldp does: runs in its environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer  # type: ignore[import-not-found]
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer  # type: ignore[import-not-found]
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer  # type: ignore[import-not-found]

from benchmarks.workers import serve

_SORTS: dict[str, tuple[Any, Any, dict[str, Any], int]] = {
    "grr": (DEClient, DEServer, {}, 20_000),
    "oue": (UEClient, UEServer, {"use_oue": True}, 2_000),
    "olh": (LHClient, LHServer, {"use_olh": True}, 200),
}
"""Client, server, their settings, and how many different reports a server is given again and again."""


def _privatise(sort: str, domain: int) -> Callable[[int], None]:
    client_type, _, settings, _ = _SORTS[sort]
    client = client_type(epsilon=1, d=domain, **settings)

    def work(count: int) -> None:
        for _ in range(count):
            client.privatise(1)

    return work


def _aggregate(sort: str, domain: int) -> Callable[[int], None]:
    client_type, server_type, settings, different = _SORTS[sort]
    client = client_type(epsilon=1, d=domain, **settings)
    server = server_type(epsilon=1, d=domain, **settings)
    reports = [client.privatise(1 + number % domain) for number in range(different)]

    def work(count: int) -> None:
        for number in range(count):
            server.aggregate(reports[number % different])

    return work


if __name__ == "__main__":
    privatising = {f"privatise-{sort}-{domain}": _privatise(sort, domain) for sort in _SORTS for domain in (2, 48)}
    aggregating = {f"aggregate-{sort}-{domain}": _aggregate(sort, domain) for sort in _SORTS for domain in (64, 1024)}
    serve(privatising | aggregating)
