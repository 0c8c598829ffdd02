// How answers are shown. A kind names its view; a new view is a new file and a line here.
import { distribution } from "./distribution.js";
import { joint } from "./joint.js";
import { quantities } from "./quantities.js";
import { shares } from "./shares.js";
import { text } from "./text.js";
import { tree } from "./tree.js";

const VIEWS = { shares, quantities, distribution, text, tree, joint };

// A view has
//   card(estimate, fresh)            what a card of the overview shows: elements; `fresh` has the words that are new
//   leading(estimate)                the row that stands for the whole answer
//   answer(estimate, info, fitted, fresh)  the chart of an answer, in its raw or its consistent view: elements
//   news                             whether some of its rows may be new
//   rows(estimate)                   the rows that can be followed over time and compared between segments
//   follows                          the series that these are of, where an answer has others that take long; or nothing
//   most                             how many rows of each series it is given, where that is more than of others
//   besides(estimate)                what an answer that is found is asked for over time and by segment: parameters
//   fits                             what its consistent view makes true, where that is more than of shares
// A view that this page does not know is that of the measure of the first series.
export function viewOf(estimate, info) {
  return VIEWS[info.view] ?? (estimate.series[0].heading.measure === "MEASURE_SHARE" ? shares : quantities);
}

export const follows = (info) => VIEWS[info.view]?.follows;
export const most = (info) => VIEWS[info.view]?.most;
export const besides = (info) => VIEWS[info.view]?.besides;
export const news = (info) => VIEWS[info.view]?.news;
export const fits = (info) => VIEWS[info.view]?.fits;
