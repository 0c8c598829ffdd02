"""What can be asked: one kind a file, registered here by the name that a collection file uses."""

from __future__ import annotations

from deniable.kinds._kind import Kind
from deniable.kinds.boolean import Boolean
from deniable.kinds.category import Category
from deniable.kinds.number import Number

__all__ = ["KINDS", "Boolean", "Category", "Kind", "Number"]

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Boolean, Category, Number)}
"""Every kind, by name."""
