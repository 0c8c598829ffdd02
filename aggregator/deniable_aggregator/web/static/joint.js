// Joints: how much every two sources have to do with each other, and a heat map of two of them, whose cells say what
// goes with them: to who points at one, and to who walks there by the arrow keys.
import { h, swap } from "./dom.js";
import { glyph } from "./glyph.js";
import { rowsOf } from "./rows.js";
import { noneNotice, percentOf } from "./words.js";

const FOLLOWED = 5;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const series = (name, estimate) => rowsOf(estimate).filter((row) => row.heading.name === name);
const byKey = (name, estimate) => new Map(series(name, estimate).map((row) => [row.key, row]));
const strongest = (estimate) => series("association", estimate).sort((one, other) => (other.value ?? -1) - (one.value ?? -1));
const seen = (row) => `${row.text} (${row.lowText} to ${row.highText})`;
const parted = (key) => key.split(" / ").map((part) => part.replace(/\\(.)/g, "$1"));
const escaped = (between) => new RegExp(`\\\\|(?<![^ ])${between}|${between}(?![^ ])`, "g");
const joined = (parts, between = "/") => parts.map((part) => part.replace(escaped(between), "\\$&")).join(` ${between} `);

export const joint = {
  fits: "a table that is not negative and adds up to 100%, and what it adds up to",
  follows: "association",
  most: 1000,

  card(estimate) {
    const row = this.leading(estimate);
    if (!row) return [noneNotice()];
    const chance = byKey("independence", estimate).get(row.key);
    return [
      h("p", { class: "big" }, row.text, h("small", {}, `association of ${row.key}`)),
      glyph(row, [0, 1]),
      h("p", { class: "between" }, `between ${row.lowText} and ${row.highText}`),
      chance ? h("p", { class: "between" }, `p-value of independence: ${chance.text}`) : null,
    ];
  },

  leading(estimate) {
    return strongest(estimate)[0];
  },

  rows(estimate) {
    return strongest(estimate).slice(0, FOLLOWED);
  },

  answer(estimate, info, fitted) {
    const pairs = strongest(estimate);
    const row = pairs.find((each) => each.key === looked.pair) ?? pairs[0];
    if (!row) return [noneNotice()];
    const place = h("div", {});
    const draw = (key) => {
      looked.pair = key;
      swap(place, ...map(estimate, key, fitted));
    };
    const options = pairs.map((each) => h("option", { value: each.key, selected: each.key === row.key }, each.key));
    const choice = h("select", { id: "joint-pair", "aria-label": "Which two", onchange: (event) => draw(event.target.value) }, ...options);
    draw(row.key);
    return [pairs.length > 1 ? h("p", { class: "about" }, "Of ", choice) : null, place];
  },
};

const looked = { pair: "", at: [0, 0], told: "" }; // where somebody is: the page around it is made anew

// The cells of two sources, and what is said of one of them.
function map(estimate, key, fitted) {
  const sources = parted(key);
  const values = sources.map((name) => series("marginals", estimate).filter((row) => row.key.startsWith(`${name}: `)).map((row) => row.key.slice(name.length + 2)));
  const about = cells(estimate, sources, fitted);
  const [rows, columns] = values;
  looked.at = looked.at.map((place, axis) => Math.min(place, values[axis].length - 1));
  const most = Math.max(...rows.flatMap((one) => columns.map((other) => about(one, other).value ?? 0)), 0.01);
  const told = h("output", { class: "about" }, looked.told);
  const say = (text) => swap(told, document.createTextNode((looked.told = text)));
  const at = (row, column) => document.getElementById(`cell-${row}-${column}`);
  const cell = (row, column) => {
    const { value, text, words } = about(rows[row], columns[column]);
    const look = () => say(words);
    const found = h("td", { id: `cell-${row}-${column}`, role: "gridcell", tabindex: `${looked.at[0] === row && looked.at[1] === column ? 0 : -1}`, onmouseenter: look, onfocus: look }, text);
    found.style.setProperty("--part", `${(100 * Math.min(Math.max((value ?? 0) / most, 0), 1)).toFixed(1)}%`);
    return found;
  };
  const step = (event) => {
    const by = STEPS[event.key];
    if (!by) return;
    event.preventDefault();
    const next = by.map((each, axis) => Math.min(Math.max(looked.at[axis] + each, 0), values[axis].length - 1));
    at(...looked.at).tabIndex = -1;
    looked.at = next;
    at(...next).tabIndex = 0;
    at(...next).focus();
  };
  const name = `${key}: the share of devices with both; arrow keys go from cell to cell`;
  const head = h("tr", {}, h("th", { scope: "col" }, sources.join(" \\ ")), ...columns.map((value) => h("th", { scope: "col" }, value)));
  const body = rows.map((value, row) => h("tr", {}, h("th", { scope: "row" }, value), ...columns.map((_, column) => cell(row, column))));
  return [
    h("p", { class: "about" }, association(estimate, key)),
    h("div", { class: "table-scroll" }, h("table", { class: "heat", role: "grid", "aria-label": name, onkeydown: step }, h("thead", {}, head), h("tbody", {}, ...body))),
    told,
  ];
}

function association(estimate, key) {
  const [row, chance] = [byKey("association", estimate).get(key), byKey("independence", estimate).get(key)];
  const how = `Association (Cramer's V, from 0 to 1): ${seen(row)}.`;
  return chance ? `${how} If they had nothing to do with each other, as much would be seen with a chance of ${chance.text}.` : how;
}

// What there is to say of a cell; of more than two sources its share is a conditional's part of a marginal.
function cells(estimate, [first, second], fitted) {
  const [table, marginals, conditionals] = ["table", "marginals", "conditionals"].map((name) => byKey(name, estimate));
  const number = (row) => (fitted ? row?.consistent : row?.value);
  return (one, other) => {
    const [a, b] = [`${first}: ${one}`, `${second}: ${other}`];
    const own = table.get(joined([one, other])) ?? table.get(`${second}: ${joined([one, other])}`);
    const given = [conditionals.get(joined([b, a], "given")), conditionals.get(joined([a, b], "given"))];
    const part = number(given[0]) * number(marginals.get(a));
    const value = own ? number(own) : Number.isFinite(part) ? part : undefined;
    const text = own ? (fitted ? own.consistentText : own.text) : value === undefined ? "–" : `${(100 * value).toFixed(2)}%`;
    const whole = own && !fitted ? `${seen(own)}, ${percentOf(estimate.confidence)} interval` : text;
    const parts = given.map((row, place) => (row ? `Of ${[a, b][place]}, ${fitted ? row.consistentText || "–" : seen(row)} have ${[b, a][place]}.` : ""));
    return { value, text, words: `${a} and ${b}: ${whole}. ${parts.join(" ")}` };
  };
}
