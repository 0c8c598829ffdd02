// Every kind: a value and words make the number of a column and its mechanism's input.
//
// Where a value lies on a range is computed with doubles, in the order that vectors/README.md states; all else with
// whole numbers.

import { WORD } from "./draws.js";
import { sha256 } from "./hashes.js";
import { pack } from "./mechanisms.js";

const MOST = 2 ** 31 - 1;
const ALL = WORD - 1n;
const words64 = (share) => BigInt(Math.ceil(share * 2 ** 64));
const number = (text) => text.split("/").reduce((top, bottom) => Number(top) / Number(bottom));
const drawn = (ends, word) => ends.findIndex((end) => word < BigInt(end));
const clamped = (value, low, high) => Math.min(Math.max(value, low), high);

// Quantities.

// Where the inputs of hybrid lie on the range from 0 to 1.
const marks = (own) => {
  const upper = [];
  for (let place = 0; `level_${place}` in own; place++) upper.push(Number(own[`level_${place}`]));
  const levels = [...upper.map((level) => -level).reverse(), ...upper];
  const width = Number(own.width);
  const sums = Array.from({ length: levels.length - width + 1 }, (_, first) =>
    levels.slice(first, first + width).reduce((sum, level) => sum + level, 0),
  );
  return sums.map((sum) => (sum - sums[0]) / (sums.at(-1) - sums[0]));
};

const among = (own, share) => {
  const places = marks(own);
  const after = places.findIndex((place) => place > share);
  const first = (after < 0 ? places.length - 1 : Math.min(after, places.length - 1)) - 1;
  return [first, words64((share - places[first]) / (places[first + 1] - places[first]))];
};

const quantity = (value, [low, high], { mechanism, parameters }, words, exact) => {
  let below, threshold;
  const last = Number(parameters.steps ?? BigInt(parameters.inputs) - 1n);
  if (mechanism === "hybrid") [below, threshold] = among(parameters, (clamped(value, low, high) - low) / (high - low));
  else if (exact) {
    const [scaled, most] = [BigInt(clamped(value, low, high)) * BigInt(last), BigInt(high)];
    [below, threshold] = [Number(scaled / most), ((scaled % most) * WORD + most - 1n) / most];
  } else {
    const place = ((clamped(value, low, high) - low) * last) / (high - low);
    below = Math.min(Math.floor(place), last);
    threshold = words64(place - below);
  }
  return [0, BigInt(Math.min(below + (words.take() < threshold ? 1 : 0), last))];
};

const ends = ({ range }) => range.map(number);

// Words that nobody has listed.

let spelling = [];
export const learnSpelling = (codes) => (spelling = codes);

const STEP = 0x9e3779b97f4a7c15n;
const mixed = (number) => {
  let bits = number & ALL;
  bits = ((bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n) & ALL;
  bits = ((bits ^ (bits >> 27n)) * 0x94d049bb133111ebn) & ALL;
  return bits ^ (bits >> 31n);
};

const normal = (text, form) => {
  const one = (each) => each.trim().split(/\s+/u).join(" ");
  const folded = (each) => each.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
  return one(form === "nfc" ? one(text).normalize("NFC") : folded(one(text)));
};

const cell = (value, { normalize, max_bytes, salt }, group) => {
  const bytes = new TextEncoder().encode(normal(value, normalize));
  const code = [...bytes, 256].map((symbol) => spelling[symbol]).join("");
  if (bytes.length > max_bytes || code.length > 128) return 64 * 256;
  const frame = 20 + 6 * Math.max(Math.ceil((code.length - 20) / 6), 0);
  const hash = sha256(new TextEncoder().encode(`${frame} ${salt} ${normalize} ${max_bytes}`));
  const seed = BigInt(`0x${hash.slice(0, 16)}`);
  const half = BigInt(frame / 2);
  const bits = BigInt(`0b${code.padEnd(frame, "0")}`);
  let [left, right] = [bits >> half, bits & ((1n << half) - 1n)];
  for (let turn = 1n; turn <= 4n; turn++)
    [left, right] = [right, left ^ (mixed(mixed(right + seed) + turn * STEP) >> (64n - half))];
  const block = ((left << half) | right).toString(2).padStart(frame, "0");
  let state = seed;
  const symbols = [];
  for (let before = 0, place = 0; place < 16; place++) {
    const end = 8 + Math.floor(((frame - 8) * place) / 15);
    state = mixed(state + BigInt(`0b0${block.slice(before, end)}`) * STEP + STEP);
    symbols.push(Number(state >> 56n));
    before = end;
  }
  return Number(mixed(state ^ ALL) >> 58n) * 256 + symbols[group];
};

// Trees and tables.

const node = (path, paths, level) => {
  const cut = (each) => each.split("/").slice(0, level + 1).join("/");
  return [...new Set(paths.map(cut))].indexOf(cut(path));
};

const counted = ({ kind, parameters }) => (kind === "boolean" ? 2 : parameters.values.length);
const placed = ({ kind, parameters }, value) => (kind === "boolean" ? Number(value) : parameters.values.indexOf(value));

const table = (names, value, meanings) =>
  names.reduce((place, name) => place * counted(meanings[name]) + placed(meanings[name], value[name]), 0);

const some = (value, { values, max_items }, words) => {
  const items = values.map((_, place) => place).filter((place) => value.includes(values[place]));
  const count = items.length;
  for (let slot = 0; slot < max_items; slot++) items.push(values.length);
  for (let slot = 0; slot < max_items; slot++) {
    const other = slot + Number((words.take() * BigInt(Math.max(count - slot, 1))) >> 64n);
    [items[slot], items[other]] = [items[other], items[slot]];
  }
  const base = BigInt(values.length + 1);
  const slots = items.slice(0, max_items).sort((one, other) => one - other);
  return slots.reduce((sum, item, slot) => sum + ((BigInt(item) + 1n) % base) * base ** BigInt(slot), 0n);
};

const vector = (value, { dimensions, clip, norm }, words) => {
  const root = Math.ceil(Math.sqrt(dimensions));
  const grid = norm === "l1" ? 1024 * dimensions : 4096 * root;
  const length = norm === "l1" ? value.reduce((sum, entry) => sum + Math.abs(entry), 0) : Math.hypot(...value);
  const unit = Math.max(length, number(clip));
  return pack(
    value.map((entry) => {
      const place = (entry / unit) * grid;
      const below = Math.floor(place);
      return BigInt(below) + (words.take() < (place - below) * 2 ** 64 ? 1n : 0n);
    }),
  );
};

const KINDS = {
  boolean: (metric, value) => [0, BigInt(value)],
  category: ({ meaning }, value) => [0, BigInt(placed(meaning, value))],
  ordinal: ({ meaning }, value) => [0, BigInt(placed(meaning, value))],
  number: ({ meaning, columns }, value, words) => quantity(value, ends(meaning.parameters), columns[0], words, false),
  count: ({ meaning, columns }, value, words) =>
    quantity(value, [0, meaning.parameters.max ?? MOST], columns[0], words, true),
  distribution: (metric, value, words) => {
    const { buckets, range } = metric.meaning.parameters;
    const [low, high] = range.map(number);
    const level = drawn(metric.ends, words.take());
    const place = ((clamped(value, low, high) - low) * buckets) / (high - low);
    const bucket = Math.min(Math.floor(place), buckets - 1);
    return [level, BigInt(Math.floor((bucket * Math.min(2 ** (level + 1), buckets)) / buckets))];
  },
  flags: ({ meaning, columns }, value, words) => {
    const { flags } = meaning.parameters;
    const bits = flags.reduce((sum, flag, bit) => sum + (value.includes(flag) ? 1n << BigInt(bit) : 0n), 0n);
    if (columns.length === 1) return [0, bits];
    const place = (words.take() * BigInt(columns.length)) >> 64n;
    return [Number(place), (bits >> place) & 1n];
  },
  set: ({ meaning }, value, words) => [0, some(value, meaning.parameters, words)],
  text: (metric, value, words) => {
    const group = drawn(metric.ends, words.take());
    return [group, BigInt(cell(value, metric.meaning.parameters, group))];
  },
  tree: (metric, value, words) => {
    const level = drawn(metric.ends, words.take());
    return [level, BigInt(node(value, metric.meaning.parameters.paths, level))];
  },
  vector: ({ meaning }, value, words) => [0, vector(value, meaning.parameters, words)],
  joint: (metric, value, words) => {
    const { pairs } = metric.meaning.parameters;
    if (!pairs) return [0, BigInt(table(metric.sources, value, metric.meanings))];
    const features = metric.sources.filter((name) => name !== pairs);
    const level = features.length > 1 ? drawn(metric.ends, words.take()) : 0;
    return [level, BigInt(table([pairs, features[level]], value, metric.meanings))];
  },
};

export const encode = (metric, value, words) => KINDS[metric.kind](metric, value, words);
