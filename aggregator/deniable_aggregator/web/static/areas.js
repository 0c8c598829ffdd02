// Areas: the parts of a node side by side, each as large as its share; a part that has parts itself is gone into.
import { h } from "./dom.js";

const HEIGHT = 300;
const SMALL = { width: 56, height: 22 };
const LEAST_PART = 0.002;

// Which node is looked into, by metric: it stays when the page is made anew.
const inside = new Map();

// below: for the key of every node that has parts, and "" for all of it, these: [{key, name, value, text}]
export function areas(metric, below, label) {
  const place = h("div", { class: "areas", role: "group", "aria-label": label });
  show();
  return place;

  function show(focus) {
    const root = below.has(inside.get(metric)) ? inside.get(metric) : "";
    const path = way(root);
    const crumbs = path.map((key, depth) => {
      const name = key ? key.split("/").at(-1) : "all";
      if (key === root) return h("b", { "aria-current": "true" }, name);
      return h("button", { type: "button", id: `areas-${depth}`, onclick: () => go(key, `areas-in-${path[depth + 1]}`) }, name);
    });
    const crumbline = h("p", { class: "crumbs", "aria-label": "Looked into" }, ...crumbs.flatMap((crumb, number) => (number ? [" › ", crumb] : [crumb])));
    const width = Math.max(Math.min(window.innerWidth - 80, 1100), 240);
    const boxes = squares(told(root), { x: 0, y: 0, width, height: HEIGHT }).map(({ node, at }) => box(node, at, width));
    const field = h("div", { class: "field" }, ...boxes);
    field.style.height = `${HEIGHT}px`;
    place.replaceChildren(crumbline, field);
    if (focus) (document.getElementById(focus) ?? place.querySelector("button"))?.focus({ preventScroll: true });
  }

  function go(key, focus) {
    inside.set(metric, key);
    show(focus);
  }

  // From all of it down to a node.
  function way(root) {
    if (!root) return [""];
    const names = root.split("/");
    return ["", ...names.map((_, end) => names.slice(0, end + 1).join("/"))];
  }

  function box(node, at, width) {
    const seen = at.width >= SMALL.width && at.height >= SMALL.height;
    const words = h("span", { class: seen ? "words" : "unseen" }, h("b", {}, node.name), " ", node.text);
    const title = `${node.key}: ${node.text}`;
    const room = { width, height: HEIGHT };
    if (!below.has(node.key)) return placed(h("div", { class: "box", title }, words), at, room);
    const inner = squares(told(node.key), { x: 0, y: 0, width: at.width, height: at.height });
    const lines = inner.map((each) => placed(h("span", { class: "part", "aria-hidden": "true" }), each.at, at));
    const button = h("button", { type: "button", class: "box", id: `areas-in-${node.key}`, title, onclick: () => go(node.key, "areas-0") }, ...lines, words, h("span", { class: "unseen" }, ": look into it"));
    return placed(button, at, room);
  }

  function told(key) {
    return (below.get(key) ?? []).filter((each) => each.value > 0);
  }
}

// Where in a room an element is, in parts of it, so that it stays there when the room grows.
function placed(element, at, room) {
  const part = (length, whole) => `${((length / whole) * 100).toFixed(3)}%`;
  element.style.left = part(at.x, room.width);
  element.style.top = part(at.y, room.height);
  element.style.width = part(at.width, room.width);
  element.style.height = part(at.height, room.height);
  return element;
}

// Rectangles for parts, in rows that are as near to squares as they can be (Bruls, Huizing and van Wijk, 2000).
function squares(parts, room) {
  const total = parts.reduce((sum, each) => sum + each.value, 0);
  const left = parts.filter((each) => each.value > LEAST_PART * total).sort((one, other) => other.value - one.value);
  const scale = (room.width * room.height) / left.reduce((sum, each) => sum + each.value, 0);
  const found = [];
  let row = [];
  let free = { ...room };
  while (left.length) {
    const side = Math.min(free.width, free.height);
    const longer = [...row, left[0]];
    if (!row.length || worst(longer, side, scale) <= worst(row, side, scale)) {
      row = longer;
      left.shift();
      if (left.length) continue;
    }
    free = lay(row, free, scale, found);
    row = [];
  }
  if (row.length) lay(row, free, scale, found);
  return found;
}

// How far the least square one of a row is from a square.
function worst(row, side, scale) {
  const areas = row.map((each) => each.value * scale);
  const sum = areas.reduce((one, other) => one + other, 0);
  return Math.max(...areas.map((area) => Math.max((side ** 2 * area) / sum ** 2, sum ** 2 / (side ** 2 * area))));
}

// Lays a row along the shorter side, and says what room is left.
function lay(row, free, scale, found) {
  const sum = row.reduce((one, each) => one + each.value * scale, 0);
  const upright = free.width >= free.height;
  const depth = sum / (upright ? free.height : free.width);
  let along = upright ? free.y : free.x;
  for (const node of row) {
    const length = (node.value * scale) / depth;
    const at = upright ? { x: free.x, y: along, width: depth, height: length } : { x: along, y: free.y, width: length, height: depth };
    found.push({ node, at });
    along += length;
  }
  return upright
    ? { x: free.x + depth, y: free.y, width: free.width - depth, height: free.height }
    : { x: free.x, y: free.y + depth, width: free.width, height: free.height - depth };
}
