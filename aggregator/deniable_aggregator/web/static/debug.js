// The debug view: what debug clients of this account would report, beside what was recorded on this machine.
import { ask } from "./api.js";
import { details, h, plural, say, swap } from "./dom.js";
import { Live } from "./live.js";
import { epochWord } from "./time.js";

const EVERY = 1_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export function debugPage(main) {
  const key = new URLSearchParams(location.search).get("key") ?? "";
  const list = h("div", { id: "showings", class: "panels" }, h("div", { class: "wait" }));
  let newest = null;
  swap(
    main,
    h(
      "div",
      { class: "headline" },
      h("h1", {}, "Debugging"),
      h("p", {}, "What debug clients of this account would report, as they record. Noise is drawn anew for each showing, as if it were the first; a device draws it once. None of it is counted, stored or logged: it is in this aggregator's memory until that ends."),
    ),
    list,
  );
  document.title = "Debugging · Deniable";
  document.querySelector(".bottom p").textContent = "What was recorded is shown as it is, to this account on this machine. It is no device's answer, and nobody's number.";
  return new Live(refresh, EVERY).now();

  async function refresh() {
    let content;
    try {
      ({ content } = await ask(`debug?key=${encodeURIComponent(key)}`));
    } catch (error) {
      if (error.status !== 403 && error.status !== 404) throw error;
      const why = error.status === 403 ? `${error.message}.` : "It is off. To have one: deniable serve metrics.toml --debug-view";
      return swap(list, h("div", { class: "panel" }, h("h2", {}, "There is nothing to see here"), h("p", { class: "about" }, why)));
    }
    const number = content.showings[0]?.number ?? 0;
    if (number === newest) return;
    if (newest !== null) say("A debug client has shown something.");
    newest = number;
    swap(list, content.showings.length ? content.showings.map((own, place) => (place ? earlier(own) : showing(own))) : nothing(), gone(content.dropped));
  }
}

function nothing() {
  return h(
    "div",
    { class: "panel" },
    h("h2", {}, "Nothing has been shown yet"),
    h("p", { class: "about" }, "Start an application on this account with ", h("code", {}, "DENIABLE_DEBUG=1"), ", or its client with ", h("code", {}, "debug=True"), ", and have it record something."),
  );
}

const gone = (dropped) => (dropped ? h("p", { class: "about" }, `${plural(dropped, "earlier showing")} had to make room.`) : null);

const titled = (own) => `${own.collection}, ${clock.format(new Date(own.at * 1000))}`;

function showing(own) {
  const id = `showing-${own.number}`;
  return h("section", { class: "panel showing", "aria-labelledby": id }, h("h2", { id }, titled(own)), told(own));
}

// One line, as there may be two hundred of them: what it said is folded away.
function earlier(own) {
  const mistakes = own.mistakes.length ? `, ${own.mistakes.length} not taken` : "";
  const name = `${titled(own)}: ${plural(own.reports.length, "report")}${mistakes}`;
  return h("section", { class: "panel showing earlier" }, details(`showing-${own.number}-earlier`, h("div", {}, told(own)), name));
}

function told(own) {
  const span = epochWord(own.seconds);
  const spent = own.reports.reduce((sum, one) => sum + one.epsilon, 0);
  const segment = Object.entries(own.segment).map((pair) => pair.join("=")).join(", ");
  const cost = `epsilon ${number(spent)} of the ${number(own.budget)} that a device may spend in one ${span}`;
  return [
    h(
      "p",
      { class: "about" },
      `${own.program}, process ${own.process}${segment ? `; in the clear: ${segment}` : ""}. `,
      own.reports.length
        ? `If the ${span} ended now, ${plural(own.reports.length, "report")} would leave together, in ${plural(own.bytes, "byte")}, for ${cost}.`
        : "Nothing would leave.",
      own.sample < 1 ? ` A device takes part in ${number(own.sample)} of all ${span}s; here it is as if it did.` : "",
    ),
    ...own.mistakes.map((what) => h("p", { class: "notice bad" }, h("strong", {}, "Not taken. "), what)),
    ...Object.entries(own.refused).map(([metric, why]) => h("p", { class: "notice" }, h("strong", {}, "Not answered. "), `${metric}: ${why}`)),
    ...own.reports.map(report),
  ];
}

function report({ metric, asked, recorded, answer, epsilon, delta, conclusion }) {
  const cost = `epsilon ${number(epsilon)}${delta ? ` and delta ${number(delta)}` : ""}`;
  return h(
    "div",
    { class: "report" },
    h("h3", {}, metric),
    h("p", { class: "about" }, asked),
    h("dl", { class: "facts" }, fact("recorded on this machine", recorded), fact("its report says", answer), fact("what that costs", cost)),
    h("p", { class: "about" }, `${conclusion[0].toUpperCase()}${conclusion.slice(1)}.`),
  );
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
const number = (value) => `${+value.toPrecision(6)}`;
