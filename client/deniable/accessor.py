"""Accessors: one metric of one client, with the type of its values. `deniable codegen` writes a module of them."""

from __future__ import annotations

from typing import Generic, TypeVar

from deniable.client import Client

__all__ = ["Accessor"]

_Value_contra = TypeVar("_Value_contra", contravariant=True)


class Accessor(Generic[_Value_contra]):
    """Records one metric: a misspelt metric or a value of another type is an error of the type checker."""

    __slots__ = ("_client", "_metric")

    def __init__(self, client: Client, metric: str) -> None:
        self._client = client
        self._metric = metric

    def record(self, value: _Value_contra) -> None:
        """Note a value, as `Client.record` does."""
        self._client.record(self._metric, value)
