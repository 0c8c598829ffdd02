// One metric: its answer, over time, by segment, and what one report reveals.
import { ask } from "./api.js";
import { newWords, asked as compared } from "./changed.js";
import { bands, bars } from "./charts.js";
import { Choices } from "./choices.js";
import { count, details, h, plural, say, swap, table } from "./dom.js";
import { legend } from "./glyph.js";
import { Live } from "./live.js";
import { again, isShare, rowsOf } from "./rows.js";
import { epochName, epochStart, epochWord, windowName } from "./time.js";
import { besides, fits, follows, most, news, viewOf } from "./views.js";
import { askedSince, doubtNotice, emptyNotice, fewNotice, hasReports, newTag, noneNotice, openNotice, percentOf, reading, reportsLine, suspicionNotice, told, tooFew } from "./words.js";

const MOST_ROWS = 50;
const LEAST_TREND = 30;

export function metricPage(collection, title, info, main) {
  const path = `collections/${title}/estimates/${info.name}`;
  const seconds = collection.epochSeconds;
  const live = new Live(refresh);
  const choices = new Choices(collection, () => live.now(), { alone: true });
  const answer = h("section", { class: "panel", "aria-labelledby": "answer-head" }, h("div", { class: "wait" }));
  const trend = h("section", { class: "panel", "aria-labelledby": "trend-head", hidden: true });
  const segments = h("div", { class: "two" });
  const links = h("p", { class: "actions" });
  let fitted = false;
  let fresh = new Set();
  let drawn = "";
  swap(
    main,
    h("p", { class: "crumbs" }, h("a", { href: `/c/${title}${choices.suffix}` }, `‹ ${title}`)),
    h("div", { class: "headline" }, h("h1", {}, info.name), h("span", { class: "tag" }, info.kind), h("p", {}, info.description)),
    choices.element,
    h("div", { class: "panels" }, answer, trend, segments, reveals(info), facts(info, collection, links)),
  );
  document.title = `${info.name} · ${title} · Deniable`;
  return live.now();

  async function refresh() {
    const asked = choices.parameters({ rows: most(info) ?? MOST_ROWS });
    const others = asked.replace(/&?fakes=[^&]*/, ""); // told of the answer alone
    const series = follows(info) ? { series: follows(info) } : {};
    const now = await ask(`${path}?${asked}`);
    const { estimate } = now.content;
    const over = choices.over(estimate, LEAST_TREND, { rows: MOST_ROWS, ...series });
    const found = besides(info) ? `&${new URLSearchParams(besides(info)(estimate))}` : "";
    const [difference, epochs, ...sides] = await Promise.all([
      news(info) ? compared(title, others, info.name) : { content: { comparisons: [] }, changed: false },
      ask(`${path}/epochs?${over}${found}`),
      ...openSegments().map((own) => ask(`${path}/segments/${own.name}?${others}${found}`)),
    ]);
    const changed = [now, difference, epochs, ...sides].some((each) => each.changed) || drawn !== asked;
    if (!changed) return;
    choices.newest(estimate.lastEpoch);
    fresh = newWords(difference.content.comparisons[0]);
    showAnswer(estimate);
    showTrend(estimate, epochs.content.estimates);
    swap(segments, ...openSegments().flatMap((own, place) => segmentPanel(own, estimate, sides[place].content.estimates)));
    showLinks(asked, `${over}${found}`);
    const leading = viewOf(estimate, info).leading(estimate);
    if (drawn === asked && leading) say(`${info.name} has changed: ${reading(leading, estimate)}`);
    drawn = asked;
  }

  // A segment of which one value is chosen is not compared.
  function openSegments() {
    const chosen = new URLSearchParams(choices.parameters());
    return collection.segments.filter((own) => !chosen.has(`segment.${own.name}`));
  }

  function showAnswer(estimate) {
    const rows = rowsOf(estimate);
    const hasFitted = rows.length > 1 && rows.some((row) => row.consistent !== undefined);
    const truth = rows.some((row) => row.truth !== undefined);
    const cut = estimate.series.filter((series) => series.rowCount > series.rows.length);
    const head = h("h2", { id: "answer-head" }, windowName(estimate, seconds));
    if (!hasReports(estimate)) return swap(answer, head, doubtNotice(estimate), emptyNotice("Nothing has come for this window and these segments."));
    const fakes = estimate.fakes ? ` Where an answer would be without up to ${percentOf(estimate.fakes)} of its reports, if these were made up, is in the table, and as a light band on bars.` : "";
    const about = `${reportsLine(estimate)}. Intervals of ${percentOf(estimate.confidence)} about ${estimate.target === "TARGET_REPORTING" ? "the devices that reported" : "the population"}.${fakes}`;
    return swap(
      answer,
      h("div", { class: "panel-head" }, head, hasFitted ? viewSwitch(estimate) : null),
      askedSince(info),
      h("p", { class: "about" }, about, fitted ? ` Consistent: ${constraints(estimate, info)}. The intervals belong to the raw estimates and are not shown.` : ""),
      doubtNotice(estimate),
      suspicionNotice(estimate),
      tooFew(estimate) ? fewNotice(estimate) : null,
      estimate.series[0].rows.length ? null : noneNotice(),
      estimate.note ? openNotice(estimate) : null,
      ...viewOf(estimate, info).answer(estimate, info, fitted, fresh),
      h("p", { class: "legend" }, ...legend(truth).slice(fitted ? 1 : 0).map(([text, drawing]) => h("span", {}, drawing, text))),
      ...answerTables(estimate, truth, fresh),
      ...cut.map((series) => h("p", { class: "about" }, `The ${count(series.rows.length)} largest of ${count(series.rowCount)}${estimate.series.length > 1 ? ` ${series.heading.name}` : ""}; the CSV file has all.`)),
    );
  }

  function viewSwitch(estimate) {
    const option = (value, text) =>
      h(
        "label",
        {},
        h("input", {
          type: "radio",
          name: "view",
          id: `view-${text.toLowerCase()}`,
          checked: fitted === value,
          onchange: () => {
            fitted = value;
            showAnswer(estimate);
          },
        }),
        text,
      );
    return h("fieldset", { class: "switch" }, h("legend", { class: "unseen" }, "View"), option(false, "Raw"), option(true, "Consistent"));
  }

  function showTrend(estimate, estimates) {
    const followed = viewOf(estimate, info).rows(estimate);
    trend.hidden = estimates.length < 2 || !followed.length;
    if (trend.hidden) return;
    const keys = followed.map((row) => row.key);
    const lines = followed.map((row) => ({ label: row.key, points: estimates.map((each) => point(each, row)).filter(Boolean) }));
    const header = [epochWord(seconds), ...keys, "reports"];
    const rows = estimates.map((each) => [
      epochName(each.lastEpoch, seconds),
      ...followed.map((row) => cell(each, row)),
      count(each.reports),
    ]);
    swap(
      trend,
      h("h2", { id: "trend-head" }, "Over time"),
      h("p", { class: "about" }, `${plural(estimates.length, epochWord(seconds))}, each by itself, with its ${percentOf(estimate.confidence)} band.`),
      bands("trend", `${keys.join(", ")} over time; the table below has the numbers`, lines, followed[0].heading.measure),
      details("trend-table", table(`${info.name} over time`, header, rows.reverse())),
    );
  }

  function point(estimate, followed) {
    const row = again(estimate, followed);
    return row && { at: epochStart(estimate.lastEpoch, seconds), value: row.value, low: row.low, high: row.high, truth: row.truth, hover: `${row.key}: ${row.text} (${row.lowText} to ${row.highText})` };
  }

  function showLinks(asked, over) {
    const all = asked.replace(/&?rows=\d+/, "");
    const allOver = over.replace(/&?rows=\d+/, "").replace(besides(info) ? "" : /&?series=[^&]*/, "");
    swap(
      links,
      h("a", { href: `/api/v1/${path}.csv?${all}` }, "This answer as CSV"),
      h("a", { href: `/api/v1/${path}?${all}` }, "as JSON"),
      h("a", { href: `/api/v1/${path}/epochs.csv?${allOver}` }, "Over time as CSV"),
      h("a", { href: `/api/v1/${path}/epochs?${allOver}` }, "as JSON"),
    );
  }

  function segmentPanel(own, whole, estimates) {
    const leading = viewOf(whole, info).leading(whole);
    if (!leading) return [];
    const rows = estimates.map((each) => {
      const row = again(each, leading);
      const value = each.segment[own.name];
      if (!row || !hasReports(each)) return { label: value, hover: `${value}: ${missing(each)}` };
      return { label: value, value: row.value, low: row.low, high: row.high, truth: row.truth, hover: `${value}: ${reading(row, each)}`, truthHover: `${value}: truth ${row.truthText}` };
    });
    const cells = estimates.map((each) => [each.segment[own.name], cell(each, leading), count(each.reports)]);
    return h(
      "section",
      { class: "panel", "aria-label": `By ${own.name}` },
      h("h2", {}, `By ${own.name}`),
      h("p", { class: "about" }, `“${leading.key}”, side by side. Where two intervals part, the difference is more than noise.`),
      bars(`by ${own.name}`, `${leading.key} by ${own.name}; the table below has the numbers`, rows, leading.heading.measure, { filled: isShare(leading) }),
      table(`${info.name}: ${leading.key} by ${own.name}`, [own.name, leading.key, "reports"], cells),
    );
  }
}

function cell(estimate, followed) {
  const row = again(estimate, followed);
  if (!row || !hasReports(estimate)) return missing(estimate);
  return `${told(row)} (${row.lowText} to ${row.highText})`;
}

// Why an answer has no number for a row of another one, to the same question.
const missing = (estimate) => (hasReports(estimate) ? "not among the largest" : "no reports");

// Rows that are to be read, and folded away those of series that are drawn: a curve, a histogram.
function answerTables(estimate, truth, fresh) {
  const drawn = (row) => row.heading.ordered && isShare(row);
  const every = rowsOf(estimate);
  const names = [...new Set(every.filter(drawn).map((row) => row.heading.name))];
  return [
    answerTable(estimate, every.filter((row) => !drawn(row)), truth, fresh),
    ...names.map((name) => details(`${name}-table`, answerTable(estimate, every.filter((row) => row.heading.name === name), truth, fresh), `The ${name} as a table`)),
  ];
}

function answerTable(estimate, every, truth, fresh) {
  const fits = every.some((row) => row.consistent !== undefined);
  const bounded = every.some((row) => row.fakesLowText);
  const header = ["answer", "estimate", `${percentOf(estimate.confidence)} interval`, ...(bounded ? [`without ${percentOf(estimate.fakes)} fakes`] : []), ...(fits ? ["consistent"] : []), ...(truth ? ["truth", "holds it"] : [])];
  const rows = every.map((row) => [
    fresh.has(row.key) ? [row.key, newTag()] : row.key,
    told(row),
    row.lowText ? `${row.lowText} to ${row.highText}` : "–",
    ...(bounded ? [row.fakesLowText ? `${row.fakesLowText} to ${row.fakesHighText}` : "–"] : []),
    ...(fits ? [row.consistentText || "–"] : []),
    ...(truth ? [row.truthText || "–", row.truth === undefined ? "–" : row.low <= row.truth && row.truth <= row.high ? "✓ yes" : "✕ no"] : []),
  ]);
  return table(`${estimate.metric}: estimates and intervals`, header, rows);
}

function reveals(info) {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "reveals-head" },
    h("h2", { id: "reveals-head" }, "What one report reveals"),
    h("p", { class: "about" }, "To somebody who sees it: on the line, in a log, or on this server."),
    h("ul", { class: "sentences" }, ...info.reveals.map((sentence) => h("li", {}, sentence))),
  );
}

// What the consistent view makes true: of shares by themselves what their heading says.
function constraints(estimate, info) {
  const adds = estimate.series.some((series) => series.heading.addsUp);
  return fits(info) ?? (adds ? "not negative, adding up to 100%" : "between 0% and 100%");
}

function remembered(info) {
  if (!info.memoized) return "no: fresh noise every epoch";
  return info.instantaneousEpsilon ? "yes: with fresh noise every epoch" : "yes: the same in every epoch";
}

function facts(info, collection, links) {
  const rows = [
    ["kind", info.kind],
    ["mechanism", info.mechanism.replaceAll("_", " ")],
    ["epsilon an epoch", info.epsilonText],
    ...(info.instantaneousEpsilon ? [["epsilon of one report", String(info.instantaneousEpsilon)]] : []),
    ["answers remembered", remembered(info)],
    ["unit", info.unit || "–"],
    ["expires", info.expires || "never"],
    ["collection's version", `${collection.version}, digest ${collection.digest}`],
  ];
  return h(
    "section",
    { class: "panel", "aria-labelledby": "facts-head" },
    h("h2", { id: "facts-head" }, "How it is asked"),
    h("dl", { class: "facts" }, ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    links,
  );
}
