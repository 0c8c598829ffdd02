// Shares of devices: booleans, categories, ordinals, flags, sets.
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { glyph } from "./glyph.js";
import { reading } from "./words.js";

const WHOLE = [0, 1];
const ON_A_CARD = 5;

const isShare = (row) => row.measure === "MEASURE_SHARE";
const largest = (rows) => [...rows].sort((one, other) => (other.value ?? -1) - (one.value ?? -1));

export const shares = {
  card(estimate) {
    const rows = estimate.rows.filter(isShare);
    if (rows.length === 1) return single(rows[0]);
    const shown = rows.length > ON_A_CARD ? largest(rows).slice(0, ON_A_CARD) : rows;
    const left = estimate.rowCount - shown.length - (estimate.rows.length - rows.length);
    return [
      h("div", { class: "lines" }, ...shown.flatMap((row) => line(row, estimate))),
      left > 0 ? h("p", { class: "spark-caption" }, `and ${left} more`) : null,
    ];
  },

  leading(estimate) {
    return largest(estimate.rows.filter(isShare))[0];
  },

  rows(estimate) {
    return largest(estimate.rows.filter(isShare)).slice(0, ON_A_CARD);
  },

  answer(estimate, info, fitted) {
    const rows = estimate.rows.filter(isShare).map((row) => ({
      label: row.label,
      value: fitted ? row.consistent : row.value,
      low: fitted ? undefined : row.low,
      high: fitted ? undefined : row.high,
      hover: fitted ? `${row.label}: ${row.consistentText}` : `${row.label}: ${reading(row, estimate)}`,
      truth: row.truth,
      truthHover: `${row.label}: truth ${row.truthText}`,
    }));
    const name = fitted ? "Consistent shares" : "Estimated shares with intervals";
    return [bars("answer", `${name} of ${info.name}; the table below has the numbers`, rows, "MEASURE_SHARE")];
  },
};

function single(row) {
  return [
    h("p", { class: "big" }, row.text, h("small", {}, row.label)),
    glyph(row, WHOLE),
    h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}`),
  ];
}

function line(row, estimate) {
  return [
    h("span", { class: "name", title: row.label }, row.label),
    glyph(row, WHOLE),
    h("span", { class: "text" }, row.text, h("span", { class: "unseen" }, ` (${reading(row, estimate)})`)),
  ];
}
