// Whole numbers and fractions of them, exactly; a fraction is [numerator, denominator].

import { bitLength } from "./draws.js";

export const fraction = (text) => {
  const [numerator, denominator = "1"] = text.split("/");
  return [BigInt(numerator), BigInt(denominator)];
};

export const plus = ([a, b], [c, d]) => [a * d + c * b, b * d];
export const minus = ([a, b], [c, d]) => [a * d - c * b, b * d];
export const times = ([a, b], [c, d]) => [a * c, b * d];
export const over = ([a, b], [c, d]) => [a * d, b * c];
export const whole = (number) => [BigInt(number), 1n];
export const floor = ([a, b]) => a / b; // of what is not negative
export const ceil = ([a, b]) => (a + b - 1n) / b;

// The nearest whole number; of two as near the even one.
export const rounded = ([a, b]) => {
  const twice = 2n * (a % b);
  const below = a / b;
  return twice > b || (twice === b && below % 2n === 1n) ? below + 1n : below;
};

export const isqrt = (square) => {
  if (square < 2n) return square;
  let root = 1n << BigInt((bitLength(square) + 1) >> 1);
  for (;;) {
    const next = (root + square / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
};

// A number at most e^exponent, and less than one part in 2^240 below it.
export const expLower = ([a, b]) => {
  const halvings = BigInt(bitLength(a / b));
  const denominator = b << halvings;
  const bits = 256n + 4n * halvings;
  let term = 1n << bits;
  let total = term;
  for (let order = 1n; term; order++) {
    term = (term * a) / (denominator * order);
    total += term;
  }
  for (let each = 0n; each < halvings; each++) total = (total * total) >> bits;
  return [total, 1n << bits];
};
