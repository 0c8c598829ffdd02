"""Counters on their way from one store to another: into files, and out of them."""

from __future__ import annotations

from deniable_aggregator.moving.exporting import Exported, export
from deniable_aggregator.moving.importing import Imported, ImportRefused, bring
from deniable_aggregator.moving.lines import FileFault

__all__ = ["Exported", "FileFault", "ImportRefused", "Imported", "bring", "export"]
