// Distributions: the median on a card; the curve with its band, the histogram, and the share of any range below it.
import { ask } from "./api.js";
import { columns, curve } from "./charts.js";
import { h, swap } from "./dom.js";
import { glyph } from "./glyph.js";
import { rowsOf } from "./rows.js";
import { reading, told, unitOf } from "./words.js";

const FOLLOWED = ["p10", "p25", "p50", "p75", "p90"];
const ENDS = { above: "Share above", below: "Share below" };

const series = (name, estimate) => rowsOf(estimate).filter((row) => row.heading.name === name);
const quantile = (key, estimate) => series("quantiles", estimate).find((row) => row.key === key);

export const distribution = {
  fits: "a curve that never falls, and bars that add up to 100%",
  follows: "quantiles",

  card(estimate) {
    const row = this.leading(estimate);
    const high = quantile("p90", estimate);
    return [
      h("p", { class: "big" }, row.text, h("small", {}, `${row.tooFew ? "" : unitOf(row)} (${row.key})`)),
      glyph(row, [row.heading.least, row.heading.most]),
      h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}${unitOf(row)}`),
      high ? h("p", { class: "between" }, `p90: ${told(high)} (${high.lowText} to ${high.highText})`) : null,
    ];
  },

  leading(estimate) {
    return quantile("p50", estimate) ?? rowsOf(estimate)[0];
  },

  rows(estimate) {
    return FOLLOWED.map((key) => quantile(key, estimate)).filter(Boolean);
  },

  answer(estimate, info, fitted) {
    const unit = info.unit ? ` (${info.unit})` : "";
    const points = series("curve", estimate).map((row) => ({ ...about(row, estimate, fitted), at: Number(row.key) }));
    const { least, most } = this.leading(estimate).heading;
    const whole = [{ at: least, value: 0, low: 0, high: 0, truth: 0 }, ...points, { at: most, value: 1, low: 1, high: 1, truth: 1 }];
    const marks = series("quantiles", estimate).map((row) => ({ ...about(row, estimate, false), share: Number(row.key.slice(1)) / 100 }));
    const bars = histogramOf(estimate, fitted);
    return [
      h("p", { class: "about" }, `The share of devices below each value${unit}, with its band; lines across are quantiles with their intervals.`),
      curve("curve", `Cumulative curve of ${info.name}; the tables below have the numbers`, whole, fitted ? [] : marks, fitted),
      h("p", { class: "about" }, "The share of devices in each part of the range: as many parts as so many reports tell apart."),
      columns("histogram", `Histogram of ${info.name}; the tables below have the numbers`, bars),
      asking(estimate, info),
    ];
  },
};

// The bars of a histogram, if an answer has one.
export function histogramOf(estimate, fitted) {
  return series("histogram", estimate).map((row) => ({ ...about(row, estimate, fitted), label: row.key, ends: row.key.split(" to ").map(Number) }));
}

function about(row, estimate, fitted) {
  return {
    value: fitted ? row.consistent : row.value,
    low: fitted ? undefined : row.low,
    high: fitted ? undefined : row.high,
    truth: row.truth,
    hover: fitted ? `${row.key}: ${row.consistentText}` : `${row.key}: ${reading(row, estimate)}`,
  };
}

const asked = { end: "above", value: "", told: "" }; // what was asked for last: the page around it is made anew

// The share of what is above or below a number, which the aggregator is asked for.
function asking(estimate, info) {
  const told = h("output", { id: "share-told", for: "share-end share-value" }, asked.told);
  const choose = h(
    "select",
    { id: "share-end", "aria-label": "Which share", onchange: (event) => (asked.end = event.target.value) },
    ...Object.entries(ENDS).map(([value, text]) => h("option", { value, selected: value === asked.end }, text)),
  );
  const value = h("input", { id: "share-value", type: "number", step: "any", required: true, value: asked.value, "aria-label": `A value${unitOf({ heading: { unit: info.unit } })}`, oninput: (event) => (asked.value = event.target.value) });
  const form = h("form", { class: "choices", "aria-label": "The share of a range" }, h("div", {}, choose), h("div", {}, value), h("div", {}, h("button", { id: "share-ask" }, "Ask")), told);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    asked.told = await share(`${asked.end} ${Number(asked.value)}`);
    swap(told, document.createTextNode(asked.told));
  });
  return form;
}

async function share(key) {
  const [, , title, metric] = location.pathname.split("/");
  const given = new URLSearchParams(location.search);
  given.set("shares", key);
  try {
    const { content } = await ask(`collections/${title}/estimates/${metric}?${given}`);
    const row = rowsOf(content.estimate).find((each) => each.heading.name === "shares" && each.key === key);
    return row ? `${row.key}: ${reading(row, content.estimate)}` : "";
  } catch (error) {
    return error.message;
  }
}
