// Does all that the files say again, and says what came out differently.

import { codebook, learn } from "./codebook.js";
import { Words } from "./draws.js";
import { sha256 } from "./hashes.js";
import { encode, learnSpelling } from "./kinds.js";
import { MECHANISMS } from "./mechanisms.js";
import { batch, segmentIndex } from "./rows.js";
import { thresholds } from "./thresholds.js";

const big = (parameters) =>
  Object.fromEntries(Object.entries(parameters).map(([name, digits]) => [name, BigInt(digits)]));
const number = (digits) => BigInt(`0x${digits || "0"}`);
const digest = (text) => sha256(new TextEncoder().encode(text)).slice(0, 16);

class Checking {
  constructor(files) {
    this.files = files;
    this.checked = {};
    this.wrong = [];
  }

  // Whether a case comes out as it stands in its file; what is not made at all is wrong, too.
  same(file, where, expected, make) {
    this.checked[file] = (this.checked[file] ?? 0) + 1;
    let made;
    try {
      made = make();
    } catch (error) {
      made = `${error}`;
    }
    const texts = [made, expected].map((each) => JSON.stringify(each));
    if (texts[0] !== texts[1]) this.wrong.push(`${file} ${where}: ${texts[0]} is not ${texts[1]}`);
  }

  // What was made of a case's words, if just these were taken.
  from(hex, make) {
    const words = new Words(hex);
    const made = make(words);
    if (words.next !== words.words.length) throw new Error(`${words.words.length - words.next} words are left`);
    return made;
  }

  draws() {
    const { below, coin, fine_coin, shuffle } = this.files["draws.json"];
    const ways = [
      ["below", below, (words, limit) => words.below(BigInt(limit)).toString()],
      ["coin", coin, (words, threshold) => Number(words.less(BigInt(threshold)))],
      ["fine_coin", fine_coin, (words, threshold) => Number(words.toss(BigInt(threshold)))],
      ["shuffle", shuffle, (words, size) => words.shuffle(size)],
    ];
    for (const [name, cases, draw] of ways)
      for (const [about, made, hex] of cases)
        this.same("draws.json", `${name} ${about}`, made, () => this.from(hex, (words) => draw(words, about)));
  }

  collections() {
    for (const own of this.files["collections.json"].collections) {
      this.same("collections.json", own.name, own.digest, () => digest(own.canonical));
      const meanings = JSON.parse(own.canonical).metrics;
      for (const metric of own.metrics) {
        const where = `${own.name} ${metric.name}`;
        this.same("collections.json", `${where} identity`, metric.identity, () => digest(metric.canonical));
        for (const column of metric.columns)
          this.same("collections.json", `${where} ${column.number}`, column.parameters, () =>
            thresholds(column, metric, meanings[metric.name]),
          );
      }
    }
  }

  mechanisms() {
    for (const [file, { mechanism, subjects, cases }] of Object.entries(this.files)) {
      if (!file.startsWith("mechanisms/")) continue;
      const parameters = subjects.map((subject) => big(subject.parameters));
      cases.forEach(([subject, input, remembered, payload, hex, drawn, discarded], place) =>
        this.same(file, place, [remembered, payload, drawn, discarded], () =>
          this.from(hex, (words) => {
            const { remember, renew } = MECHANISMS[mechanism];
            const own = parameters[subject];
            const kept = remember && remember(own, number(input), words);
            const sent = renew(own, remember ? kept : number(input), words);
            const outcomes = words.drawn.map((outcome) => outcome.toString(16)).join(" ");
            return [remember ? kept.toString(16) : "", sent.toString(16), outcomes, words.discarded];
          }),
        ),
      );
    }
  }

  codebook() {
    const { upper, codewords, spelling } = this.files["codebook.json"];
    learn(upper);
    learnSpelling(spelling);
    for (const [seed, place, entries, bytes] of codewords)
      this.same("codebook.json", `${seed} ${place}`, bytes, () =>
        codebook(BigInt(seed), place + 1, entries)
          .slice(-entries)
          .map((each) => [each & 255, each >> 8].map((byte) => byte.toString(16).padStart(2, "0")).join(""))
          .join(""),
      );
  }

  kinds() {
    const metrics = {};
    for (const own of this.files["collections.json"].collections) {
      const meanings = JSON.parse(own.canonical).metrics;
      for (const metric of own.metrics)
        metrics[`${own.name} ${metric.name}`] = { ...metric, meaning: meanings[metric.name], meanings };
    }
    for (const [collection, name, value, hex, column, input] of this.files["kinds.json"].cases) {
      const metric = metrics[`${collection} ${name}`];
      this.same("kinds.json", `${collection} ${name} ${JSON.stringify(value)}`, [column, input], () =>
        this.from(hex, (words) => {
          const [place, chosen] = encode(metric, value, words);
          return [metric.columns[place].number, chosen.toString(16)];
        }),
      );
    }
  }

  batches() {
    const known = Object.fromEntries(this.files["collections.json"].collections.map((own) => [own.name, own]));
    this.files["batches.json"].cases.forEach((own, place) => {
      const collection = known[own.collection];
      const shapes = [];
      for (const metric of collection.metrics)
        for (const column of metric.columns) shapes[column.number] = column.shape;
      const { rows, wide_rows, request } = own;
      this.same("batches.json", place, { rows, wide_rows, request }, () => batch(own, shapes));
      this.same("batches.json", `${place} segment`, own.segment_index, () =>
        segmentIndex(collection.segments, own.segment),
      );
    });
  }
}

// How many cases of each file were done again, and what came out differently.
export const check = (files) => {
  const checking = new Checking(files);
  for (const name of ["codebook", "draws", "collections", "mechanisms", "kinds", "batches"])
    if (name === "mechanisms" || `${name}.json` in files) checking[name]();
  const { checked, wrong } = checking;
  return { checked, wrong };
};
