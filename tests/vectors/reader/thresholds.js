// The thresholds of a column, from the epsilon that its metric has: fractions of whole numbers alone.

import { WORD } from "./draws.js";
import { ceil, expLower, floor, fraction, minus, over, plus, rounded, times, whole } from "./numbers.js";

const ONE = whole(1);
const FINE = 1n << 256n;
const MOST_RAISED = expLower(whole(31));
const least = (one, other) => (one[0] * other[1] <= other[0] * one[1] ? one : other);
const share = (part, all) => over(part, plus(part, all));

const lies = (exp, inputs) => ceil(times(whole(WORD), share(whole(inputs - 1n), exp)));

// P(a payload that supports the own answer): so many of all payloads, each e^eps times likelier than each other.
const inside = (exp, supporting, payloads) =>
  floor(times(whole(WORD), share(times(exp, whole(supporting)), whole(payloads - supporting))));

const flips = ([top, bottom], flags) => {
  let [low, high] = [0n, WORD / 2n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if ((WORD - middle) ** flags * bottom <= top * middle ** flags) high = middle;
    else low = middle;
  }
  return high;
};

const points = (order, dimensions) => (order ** dimensions - 1n) / (order - 1n);

// The value of an epsilon, rounded down where it is a logarithm.
const floored = ({ text, value }) =>
  text.startsWith("ln") ? minus(fraction(value), [1n, 10n ** 12n]) : fraction(value);

const laplace = (epsilon, steps, sensitivity) => {
  const slack = [WORD - 1n, WORD];
  const rate = over(times(floored(epsilon), slack), whole(sensitivity));
  const grown = (power) => expLower(times(rate, whole(1n << power)));
  const digits = {};
  let power = 0n;
  for (; (rate[0] << power) < 40n * rate[1]; power++)
    digits[`digit_${power}`] = rounded(times(whole(FINE), share(ONE, grown(power))));
  const once = grown(0n);
  const mean = over(ONE, minus(once, ONE));
  const point = plus(times(whole(2), mean), ONE);
  const far = floor(point);
  const more = over(times(whole(far), minus(point, whole(far))), minus(whole(2n * far + 1n), point));
  const away = over(mean, plus(whole(far), more));
  const [farther, either] = [times(more, away), away].map((chance) => rounded(times(chance, whole(WORD))));
  const third = farther > 1n ? farther : 1n;
  return {
    steps,
    far,
    farther: third,
    away: either > third ? either : third + 1n,
    zero: rounded(times(whole(FINE), over(minus(once, ONE), plus(once, ONE)))),
    beyond: rounded(times(whole(FINE), over(ONE, grown(power)))),
    ...digits,
  };
};

const BITS = 192n;

// base^exponent over 2^192, rounded down at every step.
const power = (base, exponent) => {
  let found = 1n << BITS;
  for (const digit of exponent.toString(2)) {
    found = (found * found) >> BITS;
    if (digit === "1") found = (found * base) >> BITS;
  }
  return found;
};

const weights = (exp, inputs) => {
  const [top, bottom] = over(exp, [(1n << 64n) + 1n, 1n << 64n]);
  const needed = ((bottom << BITS) + top - 1n) / top;
  let [low, high] = [0n, 1n << BITS];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (power(middle, inputs - 1n) >= needed) high = middle;
    else low = middle;
  }
  const found = { inputs };
  let weight = 1n << BITS;
  for (let far = 0n; far < inputs; far++) {
    found[`weight_${far}`] = weight >> (BITS - 128n);
    weight = (weight * high) >> BITS;
  }
  return found;
};

const prefixed = (prefix, parameters) =>
  Object.fromEntries(Object.entries(parameters).map(([name, number]) => [prefix + name, number]));

const part = (own, prefix) =>
  Object.fromEntries(
    Object.entries(own)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, number]) => [name.slice(prefix.length), number]),
  );

const supporting = (exp, own) => {
  if ("order" in own)
    return { ...own, inside: inside(exp, points(own.order, own.dimensions - 1n), points(own.order, own.dimensions)) };
  if ("size" in own) return { ...own, inside: inside(exp, own.size, own.inputs) };
  return { ...own, lies: lies(exp, own.inputs) };
};

const padded = (exp, own) => {
  const inner = part(own, "inner_");
  const raised = least(plus(ONE, times(whole(own.items), minus(exp, ONE))), MOST_RAISED);
  return { ...own, ...prefixed("inner_", supporting("lies" in inner && own.items > 1n ? raised : exp, inner)) };
};

const first = (exp, own) => ("items" in own ? padded(exp, own) : supporting(exp, own));

const WAYS = {
  randomized_response: (own, { exp }) => supporting(exp, own),
  subset_selection: (own, { exp }) => supporting(exp, own),
  projective_geometry: (own, { exp }) => supporting(exp, own),
  laplace: (own, { epsilon, events }) => laplace(epsilon, own.steps, events ? 1n : own.steps),
  hybrid: (own, { exp }) => ({ ...own, inside: inside(exp, own.width, own.inputs - 1n + own.width) }),
  memoized: (own, { exp, fresh }) => ({
    ...prefixed("permanent_", first(exp, part(own, "permanent_"))),
    ...prefixed("fresh_", first(fresh, part(own, "fresh_"))),
  }),
  exponential: (own, { exp }) => weights(exp, own.inputs),
  bitwise_response: (own, { exp }) => ({ ...own, flips: flips(exp, own.flags) }),
  memoized_bitwise: (own, { exp, fresh }) => ({
    ...own,
    permanent: flips(exp, own.flags),
    fresh: flips(fresh, own.flags),
  }),
  memoized_subset: (own, { exp, fresh }) => {
    const permanent = part(own, "permanent_");
    const inner = "items" in permanent ? part(permanent, "inner_") : permanent;
    const named = inside(fresh, inner.size ?? 1n, inner.inputs);
    return { ...prefixed("permanent_", first(exp, permanent)), inside: named };
  },
  pad_and_sample: (own, { exp }) => padded(exp, own),
  gaussian: (own) => own, // its spread is calibrated with decimals of 120 digits: it is taken as it stands
  vector_laplace: (own, { epsilon }) => ({
    dimensions: own.dimensions,
    bound: own.bound,
    ...prefixed("noise_", laplace(epsilon, 2n * own.bound, 2n * own.bound)),
  }),
  codewords: (own, { exp }) => ({ ...own, inside: inside(exp, own.nearest, own.codewords) }),
};

// A column's parameters: sizes as they stand, thresholds made anew.
export const thresholds = (column, metric, meaning) => {
  const own = Object.fromEntries(Object.entries(column.parameters).map(([name, digits]) => [name, BigInt(digits)]));
  const { epsilon, instantaneous_epsilon: second } = metric;
  const events = metric.kind === "count" && meaning.parameters.unit === "event";
  const made = WAYS[column.mechanism](own, {
    epsilon,
    events,
    exp: fraction(epsilon.exp),
    fresh: second && fraction(second.exp),
  });
  return Object.fromEntries(Object.entries(made).map(([name, number]) => [name, number.toString()]));
};
