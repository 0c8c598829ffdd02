// What is asked: window, segment, confidence; kept in the address, so that it can be sent to somebody.
import { h, swap } from "./dom.js";
import { epochName, epochWord } from "./time.js";

const WINDOWS = [1, 7, 30, 90];
const CONFIDENCES = ["0.9", "0.95", "0.99"];

export class Choices {
  #collection;
  #changed;
  #newest;
  element = h("form", { class: "choices", "aria-label": "What is shown" });

  constructor(collection, changed) {
    this.#collection = collection;
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

  get last() {
    return Number(this.#given().get("last") ?? 1);
  }

  // The epochs that can be chosen end with the newest that was answered.
  newest(epoch) {
    if (this.#newest !== undefined || this.#given().has("last_epoch")) return;
    this.#newest = epoch;
    this.#show();
  }

  #given() {
    const all = new URLSearchParams(location.search);
    const known = new Set(["last", "last_epoch", "confidence", "anytime", "target", ...this.#collection.segments.map((own) => `segment.${own.name}`)]);
    return new URLSearchParams([...all].filter(([name, value]) => known.has(name) && value !== ""));
  }

  #choose(name, value) {
    const given = this.#given();
    if (value === "") given.delete(name);
    else given.set(name, value);
    const suffix = given.toString();
    history.replaceState(null, "", suffix ? `?${suffix}` : location.pathname);
    this.#show();
    this.#changed();
  }

  #show() {
    const seconds = this.#collection.epochSeconds;
    const windows = WINDOWS.map((number) => [number === 1 ? "" : String(number), number === 1 ? `one ${epochWord(seconds)}` : epochWord(seconds, number)]);
    const chosen = this.#given().get("last_epoch");
    const end = this.#newest ?? Number(chosen);
    const ends = [["", this.#newest === undefined ? "the newest" : `${epochName(this.#newest, seconds)} (newest)`]];
    for (let ago = 1; end && ago <= 14; ago += 1) ends.push([String(end - ago), epochName(end - ago, seconds)]);
    if (chosen && !ends.some(([value]) => value === chosen)) ends.push([chosen, epochName(Number(chosen), seconds)]);
    swap(
      this.element,
      this.#select("last", "Window", windows),
      this.#select("last_epoch", "Up to", ends),
      ...this.#collection.segments.map((own) =>
        this.#select(`segment.${own.name}`, own.name, [["", "all"], ...own.values.map((value) => [value, value])]),
      ),
      this.#select("confidence", "Confidence", CONFIDENCES.map((value) => [value === "0.95" ? "" : value, `${Number(value) * 100}%`])),
      this.#select("anytime", "Intervals hold", [["", "at one look"], ["any", "at a year of looks"], ["growing", "at all looks at growing windows"]]),
      this.#select("target", "Intervals are about", [["", "the population"], ["reporting", "devices that reported"]]),
    );
  }

  #select(name, label, options) {
    const now = this.#given().get(name) ?? "";
    const id = `choice-${name}`;
    const select = h(
      "select",
      { id, name, onchange: (event) => this.#choose(name, event.target.value) },
      ...options.map(([value, text]) => h("option", { value, selected: value === now }, text)),
    );
    return h("div", {}, h("label", { for: id }, label), select);
  }
}
