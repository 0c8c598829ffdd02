// Words, and what is drawn from them: vectors/README.md says it in the same order.

export const WORD = 1n << 64n;

export const bitLength = (number) => (number === 0n ? 0 : number.toString(2).length);

// The words of a case, taken one after another; and what is made of them.
export class Words {
  constructor(hex) {
    this.words = hex.match(/.{16}/g)?.map((digits) => BigInt(`0x${digits}`)) ?? [];
    this.next = 0;
    this.drawn = [];
    this.discarded = 0;
  }

  take() {
    if (this.next === this.words.length) throw new Error("more words are taken than the case has");
    return this.words[this.next++];
  }

  note(outcome) {
    this.drawn.push(BigInt(outcome));
    return outcome;
  }

  // Whether a word is below a threshold.
  less(threshold) {
    return this.note(this.take() < threshold);
  }

  // The same for a threshold of 256 bits.
  toss(threshold) {
    const upper = threshold >> 192n;
    const first = this.take();
    if (first !== upper) return this.note(first < upper);
    const rest = this.many(3);
    return this.note(rest < BigInt.asUintN(192, threshold));
  }

  // So many words as one number, the first the most significant.
  many(count) {
    let number = 0n;
    for (let each = 0; each < count; each++) number = (number << 64n) | this.take();
    return number;
  }

  // One of `limit` numbers, each as likely.
  below(limit) {
    if (limit <= WORD) {
      const fair = WORD - (WORD % limit);
      let word = this.take();
      while (word >= fair) {
        this.discarded++;
        word = this.take();
      }
      return this.note(word % limit);
    }
    const bits = bitLength(limit - 1n);
    const words = Math.ceil(bits / 64);
    for (;;) {
      const drawn = this.many(words) >> BigInt(64 * words - bits);
      if (drawn < limit) return this.note(drawn);
      this.discarded += words;
    }
  }

  // A random order of 0 to size - 1.
  shuffle(size) {
    const items = Array.from({ length: size }, (_, place) => place);
    for (let last = size - 1; last > 0; last--) {
      const other = Number(this.below(BigInt(last + 1)));
      [items[last], items[other]] = [items[other], items[last]];
    }
    return items;
  }
}
