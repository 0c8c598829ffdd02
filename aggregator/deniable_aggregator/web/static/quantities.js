// Quantities in a unit: numbers, counts, vectors.
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { glyph } from "./glyph.js";
import { openNotice, reading, unitOf } from "./words.js";

const ON_A_CHART = 5;
const isQuantity = (row) => row.measure === "MEASURE_QUANTITY";

// From the least to the most that an answer can be; else around the interval.
function range(info, row) {
  if (info.least !== undefined && info.most !== undefined) return [info.least, info.most];
  const high = Number.isFinite(row.high) ? row.high : Math.max(row.value ?? 0, row.low);
  const width = high - row.low || 1;
  return [row.low - width, high + width];
}

export const quantities = {
  card(estimate, info) {
    const row = this.leading(estimate);
    return [
      h("p", { class: "big" }, row.text, h("small", {}, `${unitOf(row, estimate)} (${row.label})`)),
      glyph(row, range(info, row)),
      h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}${unitOf(row, estimate)}`),
      estimate.note ? openNotice(estimate) : null,
    ];
  },

  leading(estimate) {
    return estimate.rows.find(isQuantity) ?? estimate.rows[0];
  },

  // What they have in common with each other is the unit, and of a vector's entries the meaning: a mean and a deviation
  // would only get into each other's way.
  rows(estimate) {
    const rows = estimate.rows.filter(isQuantity);
    return estimate.kind === "vector" ? rows.slice(0, ON_A_CHART) : rows.slice(0, 1);
  },

  answer(estimate, info) {
    const rows = estimate.rows.filter(isQuantity).map((row) => ({
      label: row.label,
      value: row.value,
      low: row.low,
      high: row.high,
      hover: `${row.label}: ${reading(row, estimate)}`,
      truth: row.truth,
      truthHover: `${row.label}: truth ${row.truthText}`,
    }));
    const unit = estimate.unit ? ` in ${estimate.unit}` : "";
    return [bars("answer", `Estimates${unit} with intervals of ${info.name}; the table below has the numbers`, rows, "MEASURE_QUANTITY", { filled: false })];
  },
};
