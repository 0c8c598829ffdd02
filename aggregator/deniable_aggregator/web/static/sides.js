// Before and after: both answers of a comparison side by side, on one scale.
import { ask } from "./api.js";
import { ranked, reading } from "./changed.js";
import { columns } from "./charts.js";
import { histogramOf } from "./distribution.js";
import { h } from "./dom.js";
import { glyph } from "./glyph.js";
import { again, isShare, rowsOf } from "./rows.js";
import { windowName } from "./time.js";
import { reading as interval, unitOf } from "./words.js";

const MOST_ROWS = 12;
const SIDES = ["before", "after"];

// Both answers that a comparison is of.
export async function sidesOf(title, comparison, parameters) {
  const asked = SIDES.map((name) => {
    const { firstEpoch, lastEpoch } = comparison[name];
    const given = new URLSearchParams(parameters);
    given.set("last", lastEpoch - firstEpoch + 1);
    given.set("last_epoch", lastEpoch);
    for (const name of ["from", "to", "anytime", "rows"]) given.delete(name); // each side by itself
    return ask(`collections/${title}/estimates/${comparison.metric}?${given}`);
  });
  const found = await Promise.all(asked);
  return found.map((each) => each.content.estimate);
}

// What they look like: a line a row, the most certain change first; of a distribution both histograms.
export function sideBySide(comparison, [before, after], seconds) {
  const rows = ranked([comparison]).map((change) => ({ change, pair: [again(before, change), again(after, change)] }));
  const drawn = (row) => row.heading.ordered && isShare(row); // a curve, a histogram
  const told = rows.filter(({ pair }) => pair.every((row) => row?.value !== undefined && !drawn(row))).slice(0, MOST_ROWS);
  const name = ({ key, heading }) => (key === heading.name || heading.name === "shares" ? key : `${heading.name} ${key}`);
  const lines = told.flatMap(({ change, pair }) => {
    const scale = scaleOf(pair);
    return [
      h("div", { class: "what" }, h("b", {}, name(change)), " ", h("span", { class: "about" }, change.difference === undefined ? "" : reading(change))),
      ...pair.map((row, side) => h("div", { class: "side" }, glyph(row, scale), h("span", { class: "text" }, h("span", { class: "unseen" }, `${SIDES[side]}: `), row.text, h("span", { class: "unseen" }, ` (${interval(row, [before, after][side])})`)))),
    ];
  });
  const heads = [before, after].map((estimate, side) => h("div", { class: "side head" }, `${SIDES[side]}: ${windowName(estimate, seconds)}`));
  return [h("div", { class: "sides" }, h("div", { class: "what" }), ...heads, ...lines), ...histograms([before, after])];
}

// From where to where both are drawn: shares from 0 on, quantities as far as both intervals go.
function scaleOf(pair) {
  const ends = pair.flatMap((row) => [row.low, row.high, row.value, row.truth]).filter(Number.isFinite);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  if (isShare(pair[0])) return [0, Math.max(most, 0.01)];
  const room = (most - least || 1) * 0.05;
  return [least - room, most + room];
}

function histograms(estimates) {
  const bars = estimates.map((estimate) => histogramOf(estimate, false));
  if (bars.some((each) => !each.length)) return [];
  const ends = bars.flat().flatMap(({ value, low, high }) => [value, low, high]);
  const range = [Math.min(...ends, 0), Math.max(...ends) * 1.05];
  const unit = unitOf(rowsOf(estimates[0])[0]);
  return [
    h("p", { class: "about" }, `The share of devices in each part of the range${unit ? `, in${unit}` : ""}: before, and after.`),
    h("div", { class: "two" }, ...bars.map((each, side) => columns(`histogram-${SIDES[side]}`, `Histogram ${SIDES[side]}; the metric's own page has the numbers`, each, range))),
  ];
}
