// What has changed most: every row of every answer, the most certain change first.
import { asked, ranked, reading, since } from "./changed.js";
import { Choices } from "./choices.js";
import { count, h, plural, say, swap, table } from "./dom.js";
import { Live } from "./live.js";
import { sideBySide, sidesOf } from "./sides.js";
import { newTag, percentOf } from "./words.js";

const MOST_ROWS = 20;
const SMALLEST = 0.0001;

export function changesPage(collection, title, main) {
  const seconds = collection.epochSeconds;
  const live = new Live(refresh);
  const choices = new Choices(collection, () => live.now());
  const about = h("p");
  const found = h("section", { class: "panel", "aria-labelledby": "found-head" }, h("div", { class: "wait" }));
  const others = h("section", { class: "panel", "aria-labelledby": "others-head", hidden: true });
  const sides = h("section", { class: "panel", "aria-labelledby": "sides-head", hidden: true });
  let drawn = "";
  let looked = "";
  swap(
    main,
    h("p", { class: "crumbs" }, h("a", { href: `/c/${title}${choices.suffix}` }, `‹ ${title}`)),
    h("div", { class: "headline" }, h("h1", {}, "What has changed"), about),
    choices.element,
    h("div", { class: "panels" }, found, sides, others, explained()),
  );
  document.title = `What has changed · ${title} · Deniable`;
  return live.now();

  async function refresh() {
    const parameters = choices.parameters({ rows: MOST_ROWS });
    const { content, changed } = await asked(title, parameters);
    if (!changed && drawn === parameters) return;
    const again = drawn === parameters;
    drawn = parameters;
    const rows = ranked(content.comparisons);
    const [first] = content.comparisons;
    if (first) choices.newest(first.after.lastEpoch);
    const told = first ? `Compared with ${since(first, seconds)}. Intervals of ${percentOf(first.confidence)}. ` : "There is no window to compare with. ";
    swap(about, `${told}Of ${plural(content.lookedAt, "row")} that were looked at, those are found that differ more than noise explains: on average no more than ${percentOf(content.falseDiscoveryRate ?? 0.05)} of what is found is none.`);
    show(found, "found-head", "Found", rows.filter((row) => row.found), "Nothing differs by more than noise explains.");
    show(others, "others-head", "Not found", rows.filter((row) => !row.found), "");
    await showSides(content.comparisons, rows, parameters);
    if (again) say("The comparisons have changed.");
  }

  // Of one metric both answers: at first of that whose change is the most certain.
  async function showSides(comparisons, rows, parameters) {
    const own = comparisons.find((each) => each.metric === looked) ?? rows[0]?.of;
    sides.hidden = !own;
    if (!own) return;
    const choose = h(
      "select",
      {
        id: "sides-of",
        onchange: (event) => {
          looked = event.target.value;
          showSides(comparisons, rows, parameters);
        },
      },
      ...comparisons.map(({ metric }) => h("option", { value: metric, selected: metric === own.metric }, metric)),
    );
    const head = h("div", { class: "panel-head" }, h("h2", { id: "sides-head" }, "Before and after"), h("form", { class: "choices" }, h("div", {}, h("label", { for: "sides-of" }, "Answer"), choose)));
    swap(sides, head, ...sideBySide(own, await sidesOf(title, own, parameters), seconds));
  }

  function show(panel, id, head, rows, none) {
    panel.hidden = !rows.length && !none;
    const header = ["answer", "before", "after", "difference", "p-value"];
    swap(
      panel,
      h("h2", { id }, head),
      rows.length ? table(`${head}: ${count(rows.length)}`, header, rows.map((row) => cells(row))) : h("p", { class: "about" }, none),
    );
  }

  function cells(row) {
    const name = row.key === row.heading.name ? row.key : row.heading.name === "shares" ? row.key : `${row.heading.name} ${row.key}`;
    const link = h("a", { href: `/c/${title}/${row.of.metric}${choices.suffix}` }, `${row.of.metric}: ${name}`);
    return [row.new ? [link, newTag()] : link, row.beforeText, row.afterText, row.difference === undefined ? "–" : reading(row), chance(row.pValue)];
  }
}

function chance(value) {
  if (value === undefined) return "–";
  return value < SMALLEST ? `below ${SMALLEST}` : value.toPrecision(2);
}

function explained() {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "how-head" },
    h("h2", { id: "how-head" }, "How it is found"),
    h("ul", { class: "sentences" }, ...[
      "The p-value is how often so large a difference, or a larger one, would come out if there were none.",
      "Of many rows some differ by chance. What is found is chosen by the rule of Benjamini and Yekutieli, which holds however rows depend on each other.",
      "The same devices may stand on both sides, and nobody can tell: intervals are as wide as it takes whoever they are.",
    ].map((sentence) => h("li", {}, sentence))),
  );
}
