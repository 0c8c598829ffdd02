// Trees: the first level on a card; every node in its place, with a bar, and those below it folded away.
import { areas } from "./areas.js";
import { h, plural, svg } from "./dom.js";
import { glyph } from "./glyph.js";
import { rowsBy } from "./rows.js";
import { noneNotice, reading } from "./words.js";

const ON_A_CARD = 5;
const SHARE = "MEASURE_SHARE";
const TOTAL = "MEASURE_TOTAL";

const largest = (rows) => [...rows].sort((one, other) => (other.value ?? -1) - (one.value ?? -1));
const tops = (estimate) => largest(rowsBy(SHARE, estimate).filter((row) => !row.parent));
const nameOf = (row) => row.key.slice(row.parent ? row.parent.length + 1 : 0);

export const tree = {
  fits: "whole numbers of devices, not negative, that add up at every node",
  card(estimate) {
    const rows = tops(estimate);
    if (!rows.length) return [noneNotice()];
    const shown = rows.slice(0, ON_A_CARD);
    const left = estimate.series[0].rowCount - shown.length;
    return [
      h("div", { class: "lines" }, ...shown.flatMap((row) => [h("span", { class: "name", title: row.key }, row.key), glyph(row, [0, 1]), told(row, estimate)])),
      left > 0 ? h("p", { class: "spark-caption" }, `and ${plural(left, "more node")}, most of them below these`) : null,
    ];
  },

  leading(estimate) {
    return tops(estimate)[0];
  },

  rows(estimate) {
    return tops(estimate).slice(0, ON_A_CARD);
  },

  answer(estimate, info, fitted) {
    const rows = rowsBy(SHARE, estimate);
    const devices = new Map(rowsBy(TOTAL, estimate).map((row) => [row.key, row]));
    const known = new Set(rows.map((row) => row.key));
    const below = new Map();
    for (const row of rows) {
      const parent = known.has(row.parent) ? row.parent : "";
      below.set(parent, [...(below.get(parent) ?? []), row]);
    }
    const most = Math.max(...rows.map((row) => (fitted ? row.consistent : row.high) ?? 0), 0.01);
    const drawn = { estimate, devices, below, most, fitted };
    const label = `${fitted ? "Whole numbers of devices" : "Estimated shares with intervals"} by node of ${info.name}; the table below has the numbers`;
    return [
      h("div", { class: "tree", role: "group", "aria-label": label }, ...nodes("", drawn)),
      h("p", { class: "about" }, "The same as areas, in numbers that add up; those that have parts can be looked into."),
      areas(info.name, parts(drawn), `Shares of devices by node of ${info.name} as areas; the table below has the numbers`),
    ];
  },
};

// What areas are made of: consistent numbers, as raw ones may be negative.
function parts({ below }) {
  const one = (row) => ({ key: row.key, name: nameOf(row), value: Math.max(row.consistent ?? row.value ?? 0, 0), text: row.consistentText || row.text });
  return new Map([...below].map(([key, rows]) => [key, rows.map(one)]));
}

// Those below a node; those that have others below them can be folded, and stay as they are when the page is made anew.
function nodes(parent, drawn, depth = 0) {
  const few = (drawn.below.get(parent) ?? []).length <= ON_A_CARD;
  return (drawn.below.get(parent) ?? []).map((row) => {
    if (!drawn.below.has(row.key)) return h("div", { class: "node" }, ...node(row, drawn, depth));
    const id = `node-${row.key}`;
    const open = document.getElementById(id)?.parentElement.open ?? (!parent && few);
    return h("details", { open }, h("summary", { id, class: "node" }, ...node(row, drawn, depth)), h("div", {}, ...nodes(row.key, drawn, depth + 1)));
  });
}

function node(row, { estimate, devices, most, fitted }, depth) {
  const value = fitted ? row.consistent : row.value;
  const drawing = glyph(fitted ? { value, truth: row.truth } : row, [0, most]);
  const length = `${(Math.min(Math.max((value ?? 0) / most, 0), 1) * 100).toFixed(3)}%`;
  drawing.prepend(svg("rect", { class: "bar", x: 0, y: 3, width: length, height: 12 }));
  const whole = devices.get(row.key);
  const text = fitted ? h("span", { class: "text" }, `${whole?.consistentText ?? "–"} (${row.consistentText})`) : told(row, estimate);
  // Bars begin at one place, whatever the depth, so that they can be compared: names alone are moved to the right.
  const name = h("span", { class: "name", title: row.key }, h("span", { class: "step", "aria-hidden": "true" }, "\u2003".repeat(depth)), nameOf(row));
  return [name, drawing, text];
}

function told(row, estimate) {
  return h("span", { class: "text" }, row.text, h("span", { class: "unseen" }, ` (${reading(row, estimate)})`));
}
