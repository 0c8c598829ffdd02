// What is asked: window, segment, confidence; kept in the address, so that it can be sent to somebody.
import { h, swap } from "./dom.js";
import { epochDay, epochName, epochWord } from "./time.js";

const WINDOWS = [1, 7, 30, 90];
const CONFIDENCES = ["0.9", "0.95", "0.99"];
const FAKES = ["0.01", "0.02", "0.05", "0.1"];

export class Choices {
  #collection;
  #changed;
  #newest;
  #alone;
  element = h("form", { class: "choices", "aria-label": "What is shown" });

  // Of a metric's page, which alone says what fakes can do.
  constructor(collection, changed, { alone = false } = {}) {
    this.#collection = collection;
    this.#alone = alone;
    this.#changed = changed;
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.#show();
  }

  // The parameters as the API takes them; `last` too when it is 1.
  parameters(more = {}) {
    const given = this.#given();
    for (const [name, value] of Object.entries(more)) given.set(name, value);
    return given.toString();
  }

  // The same for a link within the page.
  get suffix() {
    const given = this.#given().toString();
    return given ? `?${given}` : "";
  }

  // The same for a window that is at least so long and ends where an answer's does.
  over(estimate, epochs, more) {
    const given = this.#given();
    // Who says where a window begins can mean days that are not well under way, with which no other window ends by itself.
    if (given.has("from") && !given.has("to")) given.set("to", epochDay(estimate.lastEpoch, this.#collection.epochSeconds));
    given.delete("from");
    given.delete("fakes");
    given.set("last", Math.max(estimate.lastEpoch - estimate.firstEpoch + 1, epochs));
    for (const [name, value] of Object.entries(more)) given.set(name, value);
    return given.toString();
  }

  // The epochs that can be chosen end with the newest that was answered.
  newest(epoch) {
    if (this.#newest !== undefined || this.#given().has("to")) return;
    this.#newest = epoch;
    this.#show();
  }

  // What the address says. An epoch's number is told as its day.
  #given() {
    const all = new URLSearchParams(location.search);
    const number = all.get("last_epoch");
    if (number && !all.has("to")) all.set("to", epochDay(Number(number), this.#collection.epochSeconds) ?? number);
    const known = new Set(["from", "to", "last", "doubtful", "confidence", "anytime", "target", ...(this.#alone ? ["fakes"] : []), ...this.#collection.segments.map((own) => `segment.${own.name}`)]);
    return new URLSearchParams([...all].filter(([name, value]) => known.has(name) && value !== ""));
  }

  #choose(name, value) {
    const given = this.#given();
    if (value === "") given.delete(name);
    else given.set(name, value);
    if (name === "last") given.delete("from");
    if (name === "from" && value !== "") given.delete("last");
    const suffix = given.toString();
    history.replaceState(null, "", suffix ? `?${suffix}` : location.pathname);
    this.#show();
    this.#changed();
  }

  #show() {
    const seconds = this.#collection.epochSeconds;
    const windows = WINDOWS.map((number) => [number === 1 ? "" : String(number), number === 1 ? `one ${epochWord(seconds)}` : epochWord(seconds, number)]);
    const span = this.#given().get("last");
    if (span && !windows.some(([value]) => value === span)) windows.push([span, span]);
    const start = this.#given().get("from");
    if (start) windows.unshift(["from", `from ${start}`]);
    const chosen = this.#given().get("to");
    const ends = [["", this.#newest === undefined ? "the newest" : `${epochName(this.#newest, seconds)} (newest)`]];
    const end = this.#newest ?? Math.floor(Date.parse(chosen) / 1000 / seconds);
    for (let ago = 1; end && ago <= 14; ago += 1) ends.push([epochDay(end - ago, seconds), epochName(end - ago, seconds)]);
    if (chosen && !ends.some(([value]) => value === chosen)) ends.push([chosen, chosen]);
    swap(
      this.element,
      this.#select("last", "Window", windows, start ? "from" : undefined),
      this.#day(),
      this.#select("to", "Up to", ends),
      ...this.#collection.segments.map((own) =>
        this.#select(`segment.${own.name}`, own.name, [["", "all"], ...own.values.map((value) => [value, value])]),
      ),
      this.#select("confidence", "Confidence", CONFIDENCES.map((value) => [value === "0.95" ? "" : value, `${Number(value) * 100}%`])),
      this.#select("anytime", "Intervals hold", [["", "at one look"], ["any", "at a year of looks"], ["growing", "at all looks at growing windows"]]),
      this.#select("target", "Intervals are about", [["", "the population"], ["reporting", "devices that reported"]]),
      this.#alone ? this.#fakes() : null,
    );
  }

  // Any share can be in the address.
  #fakes() {
    const now = this.#given().get("fakes");
    const shares = now && !FAKES.includes(now) ? [...FAKES, now] : FAKES;
    return this.#select("fakes", "Made-up reports", [["", "are not thought of"], ...shares.map((value) => [value, `up to ${Number((100 * value).toPrecision(3))}%`])]);
  }

  // A day with which the window begins; of a collection of hours, its first one.
  #day() {
    const id = "choice-from";
    const value = this.#given().get("from")?.slice(0, 10) ?? "";
    const input = h("input", { id, name: "from", type: "date", value, onchange: (event) => this.#choose("from", event.target.value) });
    return h("div", {}, h("label", { for: id }, "From"), input);
  }

  #select(name, label, options, now = this.#given().get(name) ?? "") {
    const id = `choice-${name}`;
    const select = h(
      "select",
      { id, name, onchange: (event) => this.#choose(name, event.target.value) },
      ...options.map(([value, text]) => h("option", { value, selected: value === now }, text)),
    );
    return h("div", {}, h("label", { for: id }, label), select);
  }
}
