// What has changed since the window before: on a card, and in words.
import { ask } from "./api.js";
import { h } from "./dom.js";
import { epochWord } from "./time.js";

const NOTHING = { content: { comparisons: [], lookedAt: 0 }, changed: false };

// The comparisons of a collection, or of one metric; nothing where there is no window before, or where they cost too much.
export async function asked(title, parameters, metric) {
  try {
    const asked = new URLSearchParams(parameters);
    if (asked.get("anytime") === "growing") asked.set("anytime", "any"); // two windows hold at any looks, or at one
    return await ask(`collections/${title}/comparisons${metric ? `/${metric}` : ""}?${asked}`);
  } catch (error) {
    if (error.status >= 400 && error.status < 500) return NOTHING;
    throw error;
  }
}

// What a comparison is with: "the 7 days before".
export function since({ before }, seconds) {
  return `the ${epochWord(seconds, before.lastEpoch - before.firstEpoch + 1)} before`;
}

// The words that are new in a comparison: found, and not in the window before.
export const newWords = (comparison) => new Set(ranked(comparison ? [comparison] : []).filter((own) => own.new).map((own) => own.key));

// All changes of some comparisons, the most certain first; what nobody knows comes last.
export function ranked(comparisons) {
  const rows = comparisons.flatMap((own) =>
    own.series.flatMap((series) => series.changes.map((change) => ({ ...change, heading: series.heading, of: own }))),
  );
  const told = rows.filter((row) => row.heading.measure !== "MEASURE_TOTAL");
  return told.sort((one, other) => (one.pValue ?? 2) - (other.pValue ?? 2));
}

// "+1.20 points (+0.40 to +2.00)", with the unit where there is one.
export function reading(change) {
  const unit = change.heading.unit && !change.tooFew ? ` ${change.heading.unit}` : "";
  return `${change.text}${unit} (${bare(change.lowText)} to ${bare(change.highText)})`;
}

// The change of a card that is most certain, if any was found.
export function chip(comparison, seconds) {
  const [change] = ranked(comparison ? [comparison] : []).filter((own) => own.found);
  if (!change) return null;
  const about = change.new ? `${change.key} is new: ` : change.key === "yes" || change.key === change.heading.name ? "" : `${change.key} `;
  const own = about || change.heading.name === "shares" || change.heading.name === "mean" ? about : `${change.heading.name} `;
  const title = `The ${Math.round(comparison.confidence * 100)}% interval of the difference stands in brackets. It is one of the changes that were found; few of these are none.`;
  return h("p", { class: "chip", title }, `${own}${reading(change)} since ${since(comparison, seconds)}`);
}

const bare = (text) => text.replace(" points", "");
