"""What answers questions, as it is handed to the processes that do: naming it loads no statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable_aggregator.analysis.catalog import Catalog
    from deniable_aggregator.serving.server import AddService

__all__ = ["answering"]


def answering(catalog: Catalog) -> Sequence[AddService]:
    """What has a server answer questions about the collections of a catalog."""
    from deniable_aggregator.analysis.query import analyst_of
    from deniable_aggregator.serving.estimate_service import estimates_of

    return [estimates_of(analyst_of(catalog))]
