# Made by `deniable codegen guestbook.toml`: do not edit, make it anew.
# fmt: off
# ruff: noqa: E501, RUF100
"""The metrics of guestbook, with the types of their values."""

from __future__ import annotations

from typing import Literal

from deniable import Accessor, Client

__all__ = ["Metrics"]


class Metrics:
    """Every metric of guestbook: `Metrics(client).signed.record(...)`."""

    def __init__(self, client: Client) -> None:
        self.signed: Accessor[bool] = Accessor(client, "signed")
        "Somebody signed the guestbook today (boolean, epsilon 1)"
        self.visits: Accessor[int] = Accessor(client, "visits")
        "How many pages the installation showed today, up to 10,000 (count, epsilon 1)"
        self.workers: Accessor[Literal["1", "2 to 4", "5 or more"]] = Accessor(client, "workers")
        "How many processes the installation runs (category, epsilon 1)"
