// How each kind of question is shown. A kind is one view; a new kind is a new file and a line here.
import { quantities } from "./quantities.js";
import { shares } from "./shares.js";

const VIEWS = {
  boolean: shares,
  category: shares,
  ordinal: shares,
  flags: shares,
  set: shares,
  number: quantities,
  count: quantities,
  vector: quantities,
};

// A view has
//   card(estimate, info)             what a card of the overview shows: elements
//   leading(estimate)                the row that stands for the whole answer
//   answer(estimate, info, fitted)   the chart of an answer, in its raw or its consistent view: elements
//   rows(estimate)                   the rows that can be followed over time and compared between segments
// A kind without a view of its own is shown by the measure of its rows.
export function viewOf(estimate) {
  return VIEWS[estimate.kind] ?? (estimate.rows.every((row) => row.measure === "MEASURE_SHARE") ? shares : quantities);
}
