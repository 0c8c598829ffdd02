"""Inputs made of others: bytes changed, put in, left out and repeated, and pieces of two brought together."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fuzzing.target import Target

__all__ = ["SAID", "changed"]

_BYTES = (b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff" * 8, b"\x80" * 9 + b"\1")
SAID = 0.8
"""So many of those that are to keep a form keep it."""
_SIGNS = (b"0", b"-1", b"9" * 20, b"1e400", b'"', b"\n", b" ", b"[", b"]", b"{", b"=", b",", b".", "é\u2028".encode())


def changed(chance: Random, inputs: Sequence[bytes], target: Target) -> bytes:
    """An input that is like one of these, or like two of them."""
    own = chance.choice(inputs)
    if target.otherwise and chance.random() < SAID:
        return target.otherwise(chance, own)[: target.longest]
    for _ in range(1 + int(chance.random() * 4)):
        relined = target.text and chance.random() < 0.3
        own = _relined(chance, own, inputs) if relined else _changed(chance, own, inputs, target)
    return own[: target.longest]


def _relined(chance: Random, own: bytes, inputs: Sequence[bytes]) -> bytes:
    """With a line of another one, or its own again, or without one."""
    lines, others = own.split(b"\n"), chance.choice((own, chance.choice(inputs))).split(b"\n")
    at = int(chance.random() * len(lines))
    lines[at : at + int(chance.random() * 2)] = chance.choice(([], [chance.choice(others)]))
    return b"\n".join(lines)


def _changed(chance: Random, own: bytes, inputs: Sequence[bytes], target: Target) -> bytes:
    at = int(chance.random() * (len(own) + 1))
    turn = chance.random()
    if turn < 0.4 and at < len(own):
        byte = 32 + int(chance.random() * 95) if target.text else int(chance.random() * 256)
        return own[:at] + bytes((own[at] ^ 1 << int(chance.random() * 8) if turn < 0.1 else byte,)) + own[at + 1 :]
    if turn < 0.55:
        return own[:at] + own[at + 1 + int(chance.random() * 8) :]
    if turn < 0.75:
        piece: bytes = chance.choice((*target.words, *(_SIGNS if target.text else _BYTES)))
        return own[:at] + piece + own[at + (len(piece) if turn < 0.65 else 0) :]
    if turn < 0.85:
        return own[: at + int(chance.random() * 16)] + own[at:]
    other = chance.choice(inputs)
    return own[:at] + other[int(chance.random() * (len(other) + 1)) :]
