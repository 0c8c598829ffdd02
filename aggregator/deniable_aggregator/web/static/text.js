// Words that nobody has listed: those that are found, with a line at the share from which on words are found.
import { h } from "./dom.js";
import { rowsBy } from "./rows.js";
import { drawn, shares } from "./shares.js";

const CANDIDATES = "candidates";
const SHARE = "MEASURE_SHARE";
const DRAWN = 30;

export const text = {
  ...shares,
  // What is found in one answer need not be in another: its words are asked for there.
  besides(estimate) {
    return [["series", CANDIDATES], ...text.rows(estimate).map((row) => [CANDIDATES, row.key])];
  },

  leading(estimate) {
    return text.rows(estimate)[0];
  },

  rows(estimate) {
    return shares.rows(estimate).map((row) => ({ ...row, heading: { ...row.heading, name: CANDIDATES } }));
  },

  card(estimate) {
    const series = estimate.series[0];
    const found = shares.card(estimate);
    return series.rows.length && series.leastText ? [...found, h("p", { class: "spark-caption" }, `words of eight letters are found from ${series.leastText} on`)] : found;
  },

  answer(estimate, info, fitted) {
    const series = estimate.series[0];
    const rows = rowsBy(SHARE, estimate).slice(0, DRAWN);
    if (!rows.length) return [];
    const line = series.least === undefined ? undefined : { at: series.least, words: `eight letters: found from ${series.leastText} on` };
    return [drawn(rows, estimate, fitted, `the words that are found of ${info.name}`, line)];
  },
};
