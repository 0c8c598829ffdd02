// What several views say in the same words.
import { count, h, plural } from "./dom.js";

export const percentOf = (confidence) => `${+(confidence * 100).toFixed(4)}%`;

// "61.12% (59.24% to 63.00%)", with the unit where there is one.
export function reading(row, estimate) {
  return `${told(row)}, ${percentOf(estimate.confidence)} interval ${row.lowText} to ${row.highText}${unitOf(row)}`;
}

// "43.20 minutes", or that it is too few to tell.
export const told = (row) => (row.tooFew ? row.text : `${row.text}${unitOf(row)}`);

export const unitOf = (row) => (row.heading.unit ? ` ${row.heading.unit}` : "");

export const hasReports = (estimate) => Number(estimate.reports) > 0;

// Whether something of an answer's first series is not told yet.
export const tooFew = (estimate) => estimate.series[0].rows.some((row) => row.tooFew);

export function fewNotice(estimate) {
  return h(
    "p",
    { class: "notice" },
    h("strong", {}, "Too few reports. "),
    `${plural(estimate.reports, "device")} answered, each through noise of its own: an interval that is as wide as what is possible tells nothing yet.`,
  );
}

// Why an interval has no upper end (JSON has "Infinity" for it, which is drawn as far as the drawing goes); or what rows
// are that were found.
export function openNotice(estimate) {
  const head = estimate.series[0].least === undefined ? "An open interval. " : "What is found. ";
  return h("p", { class: "notice" }, h("strong", {}, head), `${estimate.metric}: ${estimate.note}.`);
}

// Which days the operator does not trust, and whether they count; nothing where there are none.
export function doubtNotice({ doubts }) {
  if (!doubts.length) return null;
  const how = (own) => (own.removed ? "was removed" : own.leftOut ? "is left out" : "counts, though it is doubtful");
  return h("p", { class: "notice" }, h("strong", {}, "Not trusted. "), doubts.map((own) => `${own.text} ${how(own)}: ${own.reason}.`).join(" "));
}

// What honest devices would hardly add up to, of each epoch that has such marks.
export function suspicionNotice({ suspicions }) {
  if (!suspicions.length) return null;
  const said = suspicions.map((own) => `${own.text}: ${own.what}.`).join(" ");
  const rare = " Honest devices come to this in less than one epoch of ten thousand, whatever they answer, unless there are suddenly more of them: some reports may be made up.";
  return h("p", { class: "notice" }, h("strong", {}, "Suspicious. "), said, rare);
}

// Of a word that nobody has listed, found for the first time.
export const newTag = () => h("span", { class: "tag new", title: "Found, and not in the window before; its share has grown by more than noise explains" }, "new");

export function emptyNotice(what) {
  return h(
    "p",
    { class: "notice" },
    h("strong", {}, "No reports yet. "),
    `${what} Devices answer an epoch when it is over; the first answers come then.`,
  );
}

// Where rows are those that were found.
export function noneNotice() {
  return h("p", { class: "notice" }, h("strong", {}, "Nothing stands out. "), "What there may be is too rare to be told from noise with so many reports.");
}

// How many reports, and how many they are worth.
export function reportsLine(estimate) {
  const worth = Math.round(estimate.effectiveReports);
  const all = estimate.devices ? `, drawn from about ${count(Math.round(estimate.devices))} answers (${count(Math.round(estimate.devicesLow))} to ${count(Math.round(estimate.devicesHigh))})` : "";
  const reports = `${plural(estimate.reports, "report")}${all}`;
  if (!worth || worth >= Number(estimate.reports) * 0.99) return reports;
  return `${reports}, worth about ${count(worth)} from different devices`;
}

// Since which version a metric is asked as it is, with links to its answers as other versions ask it; nothing where none does.
export function askedSince({ name, place }) {
  const link = (title) => h("a", { href: `/c/${title}/${name}` }, title);
  const said = [];
  if (place.earlier) said.push(`Asked so since version ${place.sinceVersion}; before that in `, link(place.earlier), ". ");
  if (place.later) said.push("No longer asked so, but as in ", link(place.later), ".");
  return said.length ? h("p", { class: "since" }, ...said) : null;
}
