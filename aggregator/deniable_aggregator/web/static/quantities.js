// Quantities in a unit: numbers, counts, vectors.
import { bars } from "./charts.js";
import { h } from "./dom.js";
import { glyph } from "./glyph.js";
import { rowsBy, rowsOf } from "./rows.js";
import { openNotice, reading, unitOf } from "./words.js";

const ON_A_CHART = 5;
const QUANTITY = "MEASURE_QUANTITY";

// From the least to the most that an answer can be; else around the interval.
function range(row) {
  const { least, most } = row.heading;
  if (least !== undefined && most !== undefined) return [least, most];
  const high = Number.isFinite(row.high) ? row.high : Math.max(row.value ?? 0, row.low);
  const width = high - row.low || 1;
  return [row.low - width, high + width];
}

export const quantities = {
  card(estimate) {
    const row = this.leading(estimate);
    return [
      h("p", { class: "big" }, row.text, h("small", {}, `${row.tooFew ? "" : unitOf(row)} (${row.key})`)),
      glyph(row, range(row)),
      h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}${unitOf(row)}`),
      estimate.note ? openNotice(estimate) : null,
    ];
  },

  leading(estimate) {
    return rowsBy(QUANTITY, estimate)[0] ?? rowsOf(estimate)[0];
  },

  // Those of one series mean the same: a mean and a deviation would only get into each other's way.
  rows(estimate) {
    return rowsBy(QUANTITY, estimate).slice(0, ON_A_CHART);
  },

  answer(estimate, info) {
    const rows = rowsOf(estimate)
      .filter((row) => row.heading.measure === QUANTITY)
      .map((row) => ({
        label: row.key,
        value: row.value,
        low: row.low,
        high: row.high,
        fakesLow: row.fakesLow,
        fakesHigh: row.fakesHigh,
        hover: `${row.key}: ${reading(row, estimate)}`,
        truth: row.truth,
        truthHover: `${row.key}: truth ${row.truthText}`,
      }));
    const unit = info.unit ? ` in ${info.unit}` : "";
    return [bars("answer", `Estimates${unit} with intervals of ${info.name}; the table below has the numbers`, rows, QUANTITY, { filled: false })];
  },
};
