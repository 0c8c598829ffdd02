// Words that nobody has listed: those that are found, with a line at the share from which on words are found.
import { h } from "./dom.js";
import { rowsBy } from "./rows.js";
import { drawn, lines, shares } from "./shares.js";
import { noneNotice } from "./words.js";

const CANDIDATES = "candidates";
const FOUND = "found";
const SHARE = "MEASURE_SHARE";
const ON_A_CARD = 5;
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

  // Bars as long as the longest interval lets them be, with a line across at the share from which on words are found.
  card(estimate, fresh) {
    const series = estimate.series[0];
    const rows = rowsBy(SHARE, estimate).slice(0, ON_A_CARD);
    if (!rows.length) return [noneNotice()];
    const most = Math.max(...rows.map((row) => Math.max(row.high, row.truth ?? 0)), series.least);
    const left = series.rowCount - rows.length;
    const covered = estimate.series.find((own) => own.heading.name === FOUND)?.rows[0];
    const parts = [
      left > 0 ? `and ${left} more` : "",
      covered ? `${covered.text} of the devices (${covered.lowText} to ${covered.highText}) have a word that is found` : "",
      `words of eight letters are found from ${series.leastText} on, where the line is`,
    ];
    const caption = parts.filter(Boolean).join("; ");
    return [lines(rows, estimate, { scale: [0, most], threshold: series.least, fresh }), h("p", { class: "spark-caption" }, caption)];
  },

  news: true,

  answer(estimate, info, fitted, fresh) {
    const series = estimate.series[0];
    const rows = rowsBy(SHARE, estimate).slice(0, DRAWN);
    if (!rows.length) return [];
    const line = series.least === undefined ? undefined : { at: series.least, words: `eight letters: found from ${series.leastText} on` };
    return [drawn(rows, estimate, fitted, `the words that are found of ${info.name}`, { line, fresh })];
  },
};
