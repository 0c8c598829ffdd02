// Words that nobody has listed: those that are found, with a line at the share from which on words are found.
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { rowsBy } from "./rows.js";
import { lines, shares } from "./shares.js";
import { noneNotice, reading } from "./words.js";

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
    const rows = rowsBy(SHARE, estimate).slice(0, DRAWN).map((row) => ({
      label: row.key,
      marked: fresh?.has(row.key),
      value: fitted ? row.consistent : row.value,
      low: fitted ? undefined : row.low,
      high: fitted ? undefined : row.high,
      hover: fitted ? `${row.key}: ${row.consistentText}` : `${row.key}: ${reading(row, estimate)}`,
      truth: row.truth,
      truthHover: `${row.key}: truth ${row.truthText}`,
    }));
    if (!rows.length) return [];
    const name = fitted ? "Consistent shares" : "Estimated shares with intervals";
    const line = series.least === undefined ? undefined : { at: series.least, words: `eight letters: found from ${series.leastText} on` };
    const label = `${name} of the words that are found of ${info.name}; the table below has the numbers`;
    return [bars("answer", label, rows, SHARE, { line })];
  },
};
