// SHA-256 and SHAKE-128, of 32-bit integers.

const PRIMES = (() => {
  const found = [];
  for (let number = 2; found.length < 64; number++) if (found.every((prime) => number % prime)) found.push(number);
  return found;
})();

// The first 32 bits behind the point of a root, by whole numbers.
const behind = (prime, power) => {
  const scaled = BigInt(prime) << BigInt(32 * power);
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(power) <= scaled) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn) | 0;
};

const turned = (word, by) => (word >>> by) | (word << (32 - by));

export const sha256 = (bytes) => {
  const state = PRIMES.slice(0, 8).map((prime) => behind(prime, 2));
  const constants = PRIMES.map((prime) => behind(prime, 3));
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, bytes.length * 8);
  for (let at = 0; at < padded.length; at += 64) {
    const words = Array.from({ length: 16 }, (_, place) => view.getInt32(at + 4 * place));
    for (let place = 16; place < 64; place++) {
      const [early, late] = [words[place - 15], words[place - 2]];
      const one = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const two = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words.push((words[place - 16] + one + words[place - 7] + two) | 0);
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let place = 0; place < 64; place++) {
      const mixed = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const one = (h + mixed + ((e & f) ^ (~e & g)) + constants[place] + words[place]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] = (state[place] + word) | 0));
  }
  return state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
};

const RATE = 168;
const [ORDER, TURNS] = (() => {
  const [order, turns] = [[], []];
  for (let step = 0, x = 1, y = 0; step < 24; step++) {
    order.push(x + 5 * y);
    turns.push((((step + 1) * (step + 2)) / 2) % 64);
    [x, y] = [y, (2 * x + 3 * y) % 5];
  }
  return [order, turns];
})();
const ROUNDS = (() => {
  const rounds = [];
  let register = 1;
  for (let round = 0; round < 24; round++) {
    let constant = 0n;
    for (let power = 0; power < 7; power++) {
      if (register & 1) constant |= 1n << ((1n << BigInt(power)) - 1n);
      register = (register << 1) ^ (register & 0x80 ? 0x171 : 0);
    }
    rounds.push([Number(constant & 0xffffffffn) | 0, Number(constant >> 32n) | 0]);
  }
  return rounds;
})();

// Keccak's permutation of 25 lanes, each of two halves: the low one first.
const permute = (lanes) => {
  const sums = new Int32Array(10);
  const row = new Int32Array(10);
  for (const [low, high] of ROUNDS) {
    for (let half = 0; half < 10; half++)
      sums[half] = lanes[half] ^ lanes[half + 10] ^ lanes[half + 20] ^ lanes[half + 30] ^ lanes[half + 40];
    for (let x = 0; x < 5; x++) {
      const [before, after] = [2 * ((x + 4) % 5), 2 * ((x + 1) % 5)];
      const [a, b] = [sums[after], sums[after + 1]];
      const [l, h] = [sums[before] ^ ((a << 1) | (b >>> 31)), sums[before + 1] ^ ((b << 1) | (a >>> 31))];
      for (let y = 0; y < 50; y += 10) {
        lanes[y + 2 * x] ^= l;
        lanes[y + 2 * x + 1] ^= h;
      }
    }
    let [l, h] = [lanes[2], lanes[3]];
    for (let step = 0; step < 24; step++) {
      const to = 2 * ORDER[(step + 1) % 24];
      let [a, b] = TURNS[step] < 32 ? [l, h] : [h, l];
      const by = TURNS[step] % 32;
      if (by) [a, b] = [(a << by) | (b >>> (32 - by)), (b << by) | (a >>> (32 - by))];
      [l, h] = [lanes[to], lanes[to + 1]];
      [lanes[to], lanes[to + 1]] = [a, b];
    }
    for (let y = 0; y < 50; y += 10) {
      for (let half = 0; half < 10; half++) row[half] = lanes[y + half];
      for (let half = 0; half < 10; half++) lanes[y + half] = row[half] ^ (~row[(half + 2) % 10] & row[(half + 4) % 10]);
    }
    lanes[0] ^= low;
    lanes[1] ^= high;
  }
};

export const shake128 = (bytes, length) => {
  const lanes = new Int32Array(50);
  const state = new Uint8Array(lanes.buffer); // little-endian, as every machine that runs this is
  const padded = new Uint8Array((Math.floor(bytes.length / RATE) + 1) * RATE);
  padded.set(bytes);
  padded[bytes.length] = 0x1f;
  padded[padded.length - 1] |= 0x80;
  for (let at = 0; at < padded.length; at += RATE) {
    for (let place = 0; place < RATE; place++) state[place] ^= padded[at + place];
    permute(lanes);
  }
  const out = new Uint8Array(length);
  for (let at = 0; at < length; at += RATE) {
    if (at) permute(lanes);
    out.set(state.subarray(0, Math.min(RATE, length - at)), at);
  }
  return out;
};
