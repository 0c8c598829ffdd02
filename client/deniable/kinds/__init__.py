"""What can be asked: one kind a file, registered here by the name that a collection file uses."""

from __future__ import annotations

from deniable.kinds._fed import Fed
from deniable.kinds._kind import Kind
from deniable.kinds._quantity import Quantity
from deniable.kinds.boolean import Boolean
from deniable.kinds.category import Category
from deniable.kinds.count import Count
from deniable.kinds.distribution import Distribution
from deniable.kinds.flags import Flags
from deniable.kinds.joint import Joint
from deniable.kinds.number import Number
from deniable.kinds.ordinal import Ordinal
from deniable.kinds.sets import Set
from deniable.kinds.text import Text
from deniable.kinds.tree import Tree
from deniable.kinds.vector import Vector

__all__ = [
    "KINDS",
    "Boolean",
    "Category",
    "Count",
    "Distribution",
    "Fed",
    "Flags",
    "Joint",
    "Kind",
    "Number",
    "Ordinal",
    "Quantity",
    "Set",
    "Text",
    "Tree",
    "Vector",
]

KINDS: dict[str, type[Kind]] = {
    kind.name: kind
    for kind in (
        Boolean,
        Category,
        Ordinal,
        Number,
        Count,
        Distribution,
        Flags,
        Set,
        Text,
        Tree,
        Vector,
        Joint,
    )
}
"""Every kind, by name."""
