// The rows of an answer, each with the heading of its series.

// All of them, one series after another.
export const rowsOf = (estimate) => estimate.series.flatMap(under);

// Those of the first series that has this measure.
export function rowsBy(measure, estimate) {
  const found = estimate.series.find((series) => series.heading.measure === measure);
  return found ? under(found) : [];
}

// The row of another answer, to the same question, that is about the same.
export const again = (estimate, row) =>
  rowsOf(estimate).find((other) => other.key === row.key && other.heading.name === row.heading.name);

export const isShare = (row) => row.heading.measure === "MEASURE_SHARE";

// What is drawn and told is the value as it can be: the aggregator cuts it, and says where it is too few to tell.
const under = (series) => series.rows.map((row) => ({ ...row, value: row.cut, heading: series.heading }));
