"""Vector Laplace: discrete Laplace noise on every entry of a vector of bounded l1 norm.

words:
  entry   a grid point, from -bound to bound
  bound   the sizes of a vector's entries add up to this at most; two vectors lie 2 bound apart at most

Noise of P(d) proportional to alpha^|d| on each entry makes a vector likelier than its neighbour by
alpha^-(l1 distance) at most: e^eps, with alpha = e^(-eps / (2 bound)), whatever the number of entries. (Dwork,
McSherry, Nissim, Smith, TCC 2006.) The noise of an entry is `Laplace`'s over a grid of 2 bound steps, which keeps a
part of 2^-64 of epsilon for rounding: 4096 entries use up less than a part of 2^-30 of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._entries import pack, unpack
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.laplace import Laplace
from deniable.payload import Integers

__all__ = ["VectorLaplace"]


@dataclass(frozen=True, slots=True)
class VectorLaplace(Mechanism):
    """Adds discrete Laplace noise of scale 2 bound / epsilon to every entry."""

    name: ClassVar[str] = "vector_laplace"

    epsilon: Epsilon
    dimensions: int
    """How many entries a vector has."""
    bound: int
    """The largest l1 norm."""
    noise: Laplace = field(init=False)
    """Of one entry, moved up by the bound."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", Laplace(self.epsilon, 2 * self.bound))
        _ = self.shape  # checks how many entries there are, and that they fit

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """Packed entries are below this; those of a larger norm are refused."""
        return 1 << 32 * self.dimensions

    @property
    def shape(self) -> Integers:
        """An entry's grid points, and the two levels of its noise beyond either end."""
        return Integers(self.dimensions, self.bound + 2, self.noise.shape.gap)

    @property
    def variance(self) -> float:
        """The variance of an entry's noise, in steps squared."""
        return self.noise.variance

    @property
    def collision(self) -> float:
        """That of an entry, as often as there are entries."""
        return self.dimensions * self.noise.collision

    def randomize(self, value: int) -> int:
        """Every entry with noise."""
        centre = self.bound + 2
        return pack([self.noise.randomize(entry + self.bound) - centre for entry in self._entries(value)])

    def probability(self, payload: int, value: int) -> Fraction:
        """The product over the entries."""
        centre = self.bound + 2
        pairs = zip(unpack(payload, self.dimensions), self._entries(value), strict=True)
        return prod(
            (self.noise.probability(sent + centre, entry + self.bound) for sent, entry in pairs), start=Fraction(1)
        )

    def payloads(self) -> Iterator[int]:
        """All vectors of the shape."""
        most = self.shape.bound
        return map(pack, product(range(-most, most + 1), repeat=self.dimensions))

    def parameters(self) -> dict[str, int]:
        """The dimensions, the bound, and what defines the noise."""
        noise = {f"noise_{name}": number for name, number in self.noise.parameters().items()}
        return {"dimensions": self.dimensions, "bound": self.bound} | noise

    def _entries(self, value: int) -> tuple[int, ...]:
        entries = unpack(value, self.dimensions)
        if sum(map(abs, entries)) > self.bound:
            raise ValueError(f"a vector's l1 norm is at most {self.bound}")
        return entries
