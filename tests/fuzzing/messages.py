"""Messages of protobuf changed as messages: a field is said, said otherwise, or not said any more.

Bytes that are changed by chance are mostly no message, and tell no more than that protobuf has a parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

__all__ = ["said_otherwise"]

_DOUBLES = (0.0, -0.0, 1.0, -1.0, 0.5, 0.95, 1 - 2**-53, 1e-6, 1e-300, 5e-324, 1e30, 1.7e308)
_DOUBLES_OF_NOBODY = (float("inf"), float("-inf"), float("nan"))
_WHOLE = (0, 1, 2, 3, 7, 100, 3660, 19_999, 20_000, 20_001, 2**31 - 1)
_SIGNS = ("", " ", "\0", "\n", "é\u2028", "p", "50", "1e400", "-", "9" * 20, "x" * 300)
_BITS = {FieldDescriptor.CPPTYPE_UINT32: 32, FieldDescriptor.CPPTYPE_UINT64: 64}


def said_otherwise(chance: Random, message: Message, words: Sequence[str]) -> None:
    """Change one to three fields of a message, or of a message in it."""
    if message.DESCRIPTOR.fields:
        for _ in range(chance.randrange(1, 4)):
            _change(chance, message, words)


def _change(chance: Random, message: Any, words: Sequence[str]) -> None:
    field = chance.choice(message.DESCRIPTOR.fields)
    if chance.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        _change_map(chance, getattr(message, field.name), field.message_type, words)
    elif field.is_repeated:
        _change_some(chance, getattr(message, field.name), field, words)
    elif field.message_type is not None:
        getattr(message, field.name).SetInParent()
        _change(chance, getattr(message, field.name), words)
    else:
        setattr(message, field.name, _value(chance, field, words))


def _change_map(chance: Random, entries: Any, kind: Any, words: Sequence[str]) -> None:
    """One entry more, or another value of one, or none of one."""
    key = chance.choice([*entries, _value(chance, kind.fields_by_name["key"], words)])
    if key in entries and chance.random() < 0.3:
        del entries[key]
    else:
        entries[key] = _value(chance, kind.fields_by_name["value"], words)


def _change_some(chance: Random, some: Any, field: FieldDescriptor, words: Sequence[str]) -> None:
    """One more, one less, or one that is changed."""
    if some and chance.random() < 0.3:
        del some[chance.randrange(len(some))]
    elif field.message_type is None:
        some.append(_value(chance, field, words))
    else:
        _change(chance, chance.choice(some) if some and chance.random() < 0.5 else some.add(), words)


def _value(chance: Random, field: FieldDescriptor, words: Sequence[str]) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return "".join(chance.choice((*words, *_SIGNS)) for _ in range(chance.choice((1, 1, 1, 2, 3))))
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        near = chance.uniform(0.0, 1.0), chance.uniform(-1000.0, 1000.0)
        return chance.choice((*_DOUBLES, *near, chance.choice(_DOUBLES_OF_NOBODY)))
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return chance.choice((*range(12), 2**31 - 1))
    bits = _BITS.get(field.cpp_type, 31)
    return chance.choice((*_WHOLE, chance.randrange(20_100), 2**bits - 1))
