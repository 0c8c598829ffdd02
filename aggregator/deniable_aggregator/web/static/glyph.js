// An interval as a line with the value on it, small enough for a line of text.
import { svg } from "./dom.js";

const percent = (value, least, most) => `${(Math.min(Math.max((value - least) / (most - least), 0), 1) * 100).toFixed(3)}%`;

// With a `threshold` also a bar from the least on, and a line across.
export function glyph(row, [least, most], threshold) {
  const at = (value) => percent(value, least, most);
  const drawing = svg("svg", { class: "glyph", "aria-hidden": "true" }, svg("line", { class: "rail", x1: "0", x2: "100%", y1: 9, y2: 9 }));
  if (threshold !== undefined) {
    const [x, width] = [at(threshold), row.value === undefined ? "0" : at(row.value)];
    drawing.append(svg("rect", { class: "bar", x: 0, y: 2, height: 14, width }), svg("line", { class: "threshold", x1: x, x2: x, y1: 0, y2: 18 }));
  }
  if (row.low !== undefined && Number.isFinite(row.low)) {
    const [low, high] = [at(row.low), at(row.high)];
    drawing.append(
      svg("line", { class: "reach", x1: low, x2: high, y1: 9, y2: 9 }),
      svg("line", { class: "reach", x1: low, x2: low, y1: 4, y2: 14 }),
      svg("line", { class: "reach", x1: high, x2: high, y1: 4, y2: 14 }),
    );
  }
  if (row.value !== undefined) drawing.append(svg("circle", { class: "value", cx: at(row.value), cy: 9, r: 5 }));
  if (row.truth !== undefined) drawing.append(diamond(at(row.truth)));
  return drawing;
}

// A rotated square cannot be placed in percent; an inner drawing can.
function diamond(x) {
  return svg("svg", { x, y: 9, overflow: "visible" }, svg("path", { class: "truth", d: "M0 -6L6 0L0 6L-6 0Z" }));
}

// What the marks mean: their words, and a sample of each.
export function legend(truth) {
  const items = [["estimate and interval", glyph({ value: 0.5, low: 0, high: 1 }, [0, 1])]];
  const sample = svg("svg", { class: "glyph", "aria-hidden": "true" }, diamond("50%"));
  if (truth) items.push(["truth, known because these devices are simulated", sample]);
  return items;
}
