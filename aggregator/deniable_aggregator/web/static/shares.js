// Shares of devices: booleans, categories, ordinals, flags, sets.
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { glyph } from "./glyph.js";
import { rowsBy } from "./rows.js";
import { newTag, noneNotice, reading } from "./words.js";

const WHOLE = [0, 1];
const ON_A_CARD = 5;
const SHARE = "MEASURE_SHARE";

const largest = (rows) => [...rows].sort((one, other) => (other.value ?? -1) - (one.value ?? -1));

export const shares = {
  card(estimate) {
    const rows = rowsBy(SHARE, estimate);
    if (!rows.length) return [noneNotice()];
    if (rows.length === 1) return single(rows[0]);
    const shown = rows.length > ON_A_CARD ? largest(rows).slice(0, ON_A_CARD) : rows;
    const left = estimate.series.find((series) => series.heading.measure === SHARE).rowCount - shown.length;
    return [
      lines(shown, estimate),
      left > 0 ? h("p", { class: "spark-caption" }, `and ${left} more`) : null,
    ];
  },

  leading(estimate) {
    return largest(rowsBy(SHARE, estimate))[0];
  },

  rows(estimate) {
    return largest(rowsBy(SHARE, estimate)).slice(0, ON_A_CARD);
  },

  answer(estimate, info, fitted) {
    return [drawn(rowsBy(SHARE, estimate), estimate, fitted, info.name)];
  },
};

// Rows as bars, named after what they are of; `line` marks a share, and `fresh` has the words that are new.
export function drawn(rows, estimate, fitted, what, { line, fresh } = {}) {
  const each = rows.map((row) => ({
    label: row.key,
    marked: fresh?.has(row.key),
    value: fitted ? row.consistent : row.value,
    low: fitted ? undefined : row.low,
    high: fitted ? undefined : row.high,
    fakesLow: fitted ? undefined : row.fakesLow,
    fakesHigh: fitted ? undefined : row.fakesHigh,
    hover: fitted ? `${row.key}: ${row.consistentText}` : `${row.key}: ${reading(row, estimate)}`,
    truth: row.truth,
    truthHover: `${row.key}: truth ${row.truthText}`,
  }));
  const name = fitted ? "Consistent shares" : "Estimated shares with intervals";
  return bars("answer", `${name} of ${what}; the table below has the numbers`, each, SHARE, { line });
}

function single(row) {
  return [
    h("p", { class: "big" }, row.text, h("small", {}, row.key)),
    glyph(row, WHOLE),
    h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}`),
  ];
}

// A line a row: its name, its interval, on a scale and with a threshold if there is one, and its number.
export function lines(rows, estimate, { scale = WHOLE, threshold, fresh } = {}) {
  const line = (row) => [
    h("span", { class: "name", title: row.key }, fresh?.has(row.key) ? newTag() : null, row.key),
    glyph(row, scale, threshold),
    h("span", { class: "text" }, row.text, h("span", { class: "unseen" }, ` (${reading(row, estimate)})`)),
  ];
  return h("div", { class: "lines" }, ...rows.flatMap(line));
}
