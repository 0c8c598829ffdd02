// Every mechanism: parameters, an input and words make a payload. All numbers are BigInt.

import { ranked } from "./codebook.js";
import { bitLength } from "./draws.js";
import { expLower, isqrt } from "./numbers.js";

const WIDTH = 12n;

// The parameters that begin with a prefix, without it.
const part = (own, prefix) =>
  Object.fromEntries(
    Object.entries(own)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, number]) => [name.slice(prefix.length), number]),
  );

const count = (bits) => bits.toString(2).replaceAll("0", "").length;

// The entries of a packed vector: 32 bits each, the first the lowest.
export const unpack = (packed, size) =>
  Array.from({ length: Number(size) }, (_, place) => BigInt.asIntN(32, packed >> BigInt(32 * place)));

export const pack = (entries) =>
  entries.reduce((packed, entry, place) => packed | (BigInt.asUintN(32, entry) << BigInt(32 * place)), 0n);

// Randomized response.

const response = ({ inputs, lies }, value, words) => {
  if (inputs === 2n) return value ^ BigInt(words.less(lies));
  const lie = words.less(lies);
  const other = words.below(inputs - 1n);
  return lie ? other + BigInt(other >= value) : value;
};

// Subset selection.

const thinning = (weight, size) => {
  const precision = BigInt((bitLength(size) >> 1) + 2);
  let chance = ((weight - isqrt(weight) / 2n) << precision) / size;
  if (!chance) return [];
  const digits = Array.from({ length: Number(precision) }, (_, place) => (chance >> BigInt(place)) & 1n);
  return digits.slice(digits.indexOf(1n));
};

const someOf = (size, weight, words) => {
  let bits = 0n;
  for (const digit of thinning(weight, size)) {
    const coins = words.below(1n << size);
    bits = digit ? bits | coins : bits & coins;
  }
  while (count(bits) > weight) bits &= ~(1n << words.below(size));
  while (count(bits) < weight) bits |= 1n << words.below(size);
  return bits;
};

const subset = ({ inputs, size, inside }, value, words) => {
  const others = inputs - 1n;
  let named = someOf(others, size - 1n, words);
  let extra;
  do extra = 1n << words.below(others);
  while (named & extra);
  const room = (bits) => bits + ((bits >> value) << value); // for the own answer's bit
  return room(named) | (words.less(inside) ? 1n << value : room(extra));
};

// Projective geometry.

const points = (order, dimensions) => (order ** dimensions - 1n) / (order - 1n);

const degree = (order, number) => {
  let found = 0n;
  while (points(order, found + 1n) <= number) found++;
  return found;
};

const coefficients = (order, dimensions, number) => {
  const own = degree(order, number);
  let rest = number - points(order, own) + order ** own;
  return Array.from({ length: Number(dimensions) }, () => {
    const digit = rest % order;
    rest /= order;
    return digit;
  });
};

const geometry = ({ order, dimensions, inside }, value, words) => {
  const [all, supporting] = [points(order, dimensions), points(order, dimensions - 1n)];
  const [support, far] = [words.below(supporting), words.below(all - supporting)];
  const rank = words.less(inside) ? support : supporting + far;
  const free = dimensions - 1n - degree(order, value);
  const [scale, fewer] = [order ** free, points(order, free)];
  const other = rank >= supporting;
  const place = other ? rank - supporting : rank;
  const short = other ? scale : fewer;
  let number, wanted;
  if (place < short) {
    number = other ? fewer + place : place;
    wanted = other ? 1n : 0n;
  } else {
    const [high, low] = [(place - short) / scale, (place - short) % scale];
    const higher = other ? high / (order - 1n) : high;
    wanted = other ? (high % (order - 1n)) + 1n : 0n;
    number = points(order, free + 1n) + scale * order * higher + low;
  }
  const [ours, theirs] = [value, number].map((each) => coefficients(order, dimensions, each));
  const product = ours.reduce((sum, digit, at) => sum + digit * theirs[ours.length - 1 - at], 0n);
  return number + scale * ((((wanted - product) % order) + order) % order);
};

// Laplace noise.

const laplace = (own, value, words) => {
  let [size, weight] = [1n, 1n];
  for (let place = 0; `digit_${place}` in own; place++, weight *= 2n)
    size += words.toss(own[`digit_${place}`]) ? weight : 0n;
  while (words.toss(own.beyond)) size += weight;
  const sign = words.note(words.take() & 1n) ? -1n : 1n;
  const noisy = value + (words.toss(own.zero) ? 0n : sign * size);
  const drawn = words.take();
  const out = BigInt(words.note(drawn < own.away)) + BigInt(words.note(drawn < own.farther));
  if (noisy <= 0n) return 2n - out;
  return 2n + (noisy >= own.steps ? own.steps + out : noisy);
};

const vectorLaplace = (own, value, words) => {
  const noise = part(own, "noise_");
  const centre = own.bound + 2n;
  return pack(unpack(value, own.dimensions).map((entry) => laplace(noise, entry + own.bound, words) - centre));
};

// Gaussian noise.

const TABLES = new Map();

// The thresholds of a step, of words of 128 bits.
const table = (spread, levels) => {
  const key = `${spread} ${levels}`;
  if (!TABLES.has(key)) {
    const [a, b] = [16n ** levels - 1n, 30n * spread];
    const reach = isqrt((92n * b) / a);
    const side = [];
    for (let far = 0n; far <= reach; far++) {
      const [top, bottom] = expLower([a * far * far, b]);
      side.push((bottom << 256n) / top);
    }
    let sum = 0n;
    const sums = [...side.slice(1).reverse(), ...side].map((chance) => (sum += chance));
    TABLES.set(key, { reach, marks: sums.map((upto) => (upto << 128n) / sum) });
  }
  return TABLES.get(key);
};

const gaussian = ({ dimensions, bound, spread, levels }, value, words) => {
  const { reach, marks } = table(spread, levels);
  const farthest = (reach * (4n ** levels - 1n)) / 3n;
  const likely = isqrt((spread * 3327107n) / 100000n) + 1n;
  const end = bound + (likely < farthest ? likely : farthest);
  return pack(
    unpack(value, dimensions).map((entry) => {
      let noise = 0n;
      for (let level = 0n; level < levels; level++) {
        const drawn = words.many(2);
        noise = 4n * noise + words.note(BigInt(marks.filter((mark) => mark <= drawn).length)) - reach;
      }
      const noisy = entry + noise;
      return noisy < -end ? -end : noisy > end ? end : noisy;
    }),
  );
};

// The exponential mechanism.

const exponential = (own, value, words) => {
  const last = own.inputs - 1n;
  const weights = [];
  for (let place = -last; place <= last; place++) weights.push(own[`weight_${place < 0n ? -place : place}`]);
  let sum = 0n;
  const sums = [0n, ...weights.map((weight) => (sum += weight))];
  const left = Number(last - value);
  const [first, total] = [sums[left], sums[left + Number(own.inputs)] - sums[left]];
  const scaled = first + ((words.many(2) * total) >> 128n);
  return words.note(BigInt(sums.findIndex((each) => each > scaled))) - 1n - BigInt(left);
};

// Hybrid.

const hybrid = ({ inputs, inside }, value, words) => {
  const [within, other] = [words.below(WIDTH), words.below(inputs - 1n)];
  return words.less(inside) ? value + within : other + (other >= value ? WIDTH : 0n);
};

// Bitwise response.

const bitwise = ({ flags, flips }, value, words) => {
  let flipped = 0n;
  for (let bit = 0n; bit < flags; bit++) flipped = 2n * flipped + BigInt(words.less(flips));
  return value ^ flipped;
};

// Sets.

const padAndSample = (own, value, words) => {
  const [base, slot] = [own.values + 1n, words.below(own.items)];
  const digits = Array.from({ length: Number(own.items) }, (_, place) => (value / base ** BigInt(place)) % base);
  const digit = digits[Number(slot)];
  const empty = digit === 0n || digits.indexOf(digit) < Number(slot);
  return anyOf(part(own, "inner_"))(part(own, "inner_"), empty ? own.values + slot : digit - 1n, words);
};

// Codewords.

const codewords = (own, value, words) => {
  const [seed, near] = [words.below(own.seeds), words.below(own.nearest)];
  const far = words.below(own.codewords - own.nearest);
  const place = words.less(own.inside) ? near : own.nearest + far;
  return seed * own.codewords + BigInt(ranked(own, seed, unpack(value, own.dimensions))[Number(place)]);
};

// What a mechanism within another one is, by its parameters.
const anyOf = (own) => {
  if ("items" in own) return padAndSample;
  if ("order" in own) return geometry;
  return "size" in own ? subset : response;
};

// Memories: what is remembered, and what is sent of it.

const twice = {
  remember: (own, value, words) => response(part(own, "permanent_"), value, words),
  renew: (own, kept, words) => anyOf(part(own, "fresh_"))(part(own, "fresh_"), kept, words),
};

const twiceBitwise = {
  remember: ({ flags, permanent }, value, words) => bitwise({ flags, flips: permanent }, value, words),
  renew: ({ flags, fresh }, kept, words) => bitwise({ flags, flips: fresh }, kept, words),
};

const keptSubset = {
  remember: (own, value, words) => anyOf(part(own, "permanent_"))(part(own, "permanent_"), value, words),
  renew: (own, kept, words) => {
    const permanent = part(own, "permanent_");
    const inner = "items" in permanent ? part(permanent, "inner_") : permanent;
    const size = "size" in inner ? inner.size : 1n;
    const bits = "size" in inner ? kept : 1n << kept;
    const [near, far] = [words.below(size), size + words.below(inner.inputs - size)];
    const answers = Array.from({ length: Number(inner.inputs) }, (_, place) => BigInt(place));
    const inside = (answer) => (bits >> answer) & 1n;
    const ordered = [...answers.filter(inside), ...answers.filter((answer) => !inside(answer))];
    return ordered[Number(words.less(own.inside) ? near : far)];
  },
};

const plain = (randomize) => ({ remember: null, renew: randomize });

export const MECHANISMS = {
  randomized_response: plain(response),
  subset_selection: plain(subset),
  projective_geometry: plain(geometry),
  laplace: plain(laplace),
  hybrid: plain(hybrid),
  memoized: twice,
  exponential: plain(exponential),
  bitwise_response: plain(bitwise),
  memoized_bitwise: twiceBitwise,
  memoized_subset: keptSubset,
  pad_and_sample: plain(padAndSample),
  gaussian: plain(gaussian),
  vector_laplace: plain(vectorLaplace),
  codewords: plain(codewords),
};
