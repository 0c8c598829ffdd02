// Codewords: which of a seed's are nearest to a vector, by whole numbers alone.

import { shake128 } from "./hashes.js";
import { isqrt } from "./numbers.js";

const PAGE = 256;
const FINE = 16n;
let table = [];

// The table, from the differences of its upper half.
export const learn = (differences) => {
  let entry = 0;
  const upper = differences.map((more) => (entry += more));
  table = [...upper.map((each) => -each).reverse(), ...upper];
};

const bytes = (seed, page) => {
  const name = new TextEncoder().encode("deniable codebook 1");
  const found = new Uint8Array(name.length + 12);
  found.set(name);
  const view = new DataView(found.buffer, name.length);
  view.setBigUint64(0, seed, true);
  view.setUint32(8, page, true);
  return found;
};

// The places in the table of all entries of a codebook, one codeword after another.
export const codebook = (seed, codewords, entries) => {
  const each = Math.max(Math.floor(PAGE / entries), 1);
  const places = [];
  for (let first = 0, page = 0; first < codewords; first += each, page++) {
    const hash = shake128(bytes(seed, page), 2 * entries * Math.min(each, codewords - first));
    for (let at = 0; at < hash.length; at += 2) places.push(hash[at] | (hash[at + 1] << 8));
  }
  return places;
};

// The numbers of a seed's codewords, the nearest first; of two that are as near, the lower number first.
//
// A cosine is a / sqrt(b) for whole numbers a and b, times what is the same for all. So a |a| / b puts them in order.
export const ranked = ({ dimensions, bound, codewords }, seed, vector) => {
  const size = Number(dimensions) + 1;
  const left = bound * bound - vector.reduce((sum, entry) => sum + entry * entry, 0n);
  const lifted = [...vector.map((entry) => FINE * entry), isqrt(FINE * FINE * left)].map(Number);
  const places = codebook(seed, Number(codewords), size);
  const marks = [];
  for (let first = 0; first < places.length; first += size) {
    let [along, square] = [0, 0];
    for (let place = 0; place < size; place++) {
      const entry = table[places[first + place]];
      along += entry * lifted[place];
      square += entry * entry;
    }
    const cosine = BigInt(along);
    marks.push((cosine * (cosine < 0n ? -cosine : cosine) * (1n << 256n)) / BigInt(square));
  }
  const order = marks.map((_, number) => number);
  return order.sort((one, other) => (marks[one] === marks[other] ? one - other : marks[one] > marks[other] ? -1 : 1));
};
