"""The wire format of protobuf, as far as a device needs it before it loads anything.

words:
  tag    a field's number, and how its value is encoded
  value  as it is encoded; of what has a length, without it
"""

from __future__ import annotations

__all__ = ["LENGTH", "bytes_field", "fields", "number_field", "tag_of"]

LENGTH = 2
"""The encoding of what has a length."""
_FIXED = {1: 8, 5: 4}


def tag_of(number: int, encoding: int = LENGTH) -> int:
    """The tag of a field."""
    return number << 3 | encoding


def number_field(number: int, value: int) -> bytes:
    """A field that is a number; as proto3 has it, 0 is not sent."""
    return _varint(tag_of(number, 0)) + _varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """A field of bytes; as proto3 has it, none are not sent."""
    return _varint(tag_of(number)) + _varint(len(value)) + value if value else b""


def fields(message: bytes) -> list[tuple[int, bytes, bytes]]:
    """The tag, the whole and the value of each field; an IndexError where they can not be read."""
    found, start = [], 0
    while start < len(message):
        tag, at = _number(message, start)
        encoding = tag & 7
        if encoding == LENGTH:
            length, at = _number(message, at)
            end = at + length
        else:
            end = at + _FIXED[encoding] if encoding in _FIXED else _number(message, at)[1]
        if end > len(message):
            raise IndexError("the message ends within a field")
        found.append((tag, message[start:end], message[at:end]))
        start = end
    return found


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A varint there, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
