// A collection at a glance: a card a metric.
import { ask } from "./api.js";
import { asked, chip, newWords } from "./changed.js";
import { spark } from "./charts.js";
import { Choices } from "./choices.js";
import { h, plural, say, swap } from "./dom.js";
import { legend } from "./glyph.js";
import { Live } from "./live.js";
import { rowsOf } from "./rows.js";
import { epochStart, epochWord, windowName } from "./time.js";
import { viewOf } from "./views.js";
import { askedSince, doubtNotice, emptyNotice, fewNotice, hasReports, percentOf, reportsLine, suspicionNotice, tooFew } from "./words.js";

const SOON = 30 * 86_400_000;
const CHANGES = 5; // of each answer: a card marks as many new words

export function overview(collection, title, main) {
  const about = h("p");
  const cards = h("ul", { class: "cards" }, ...collection.metrics.map(() => h("li", { class: "wait", "aria-hidden": "true" })));
  const marks = h("p", { class: "legend" });
  const live = new Live(refresh);
  const choices = new Choices(collection, () => live.now());
  const shown = new Map(); // metric -> what its card was made from
  swap(main, h("div", { class: "headline" }, h("h1", {}, title), about), choices.element, cards, marks);
  document.title = `${title} · Deniable`;
  return live.now();

  async function refresh() {
    const [{ content, changed }, differences] = await Promise.all([
      ask(`collections/${title}/overview?${choices.parameters({ rows: 8 })}`),
      asked(title, choices.parameters({ rows: CHANGES })),
    ]);
    const base = `/c/${title}/`;
    choices.newest(content.estimates[0]?.lastEpoch);
    if (!changed && !differences.changed && shown.size) return;
    describe(content.estimates);
    const compared = new Map(differences.content.comparisons.map((own) => [own.metric, own]));
    const infos = new Map(collection.metrics.map((info) => [info.name, info]));
    const items = content.estimates.map((estimate, place) => {
      const trend = content.trends[place];
      const found = chip(compared.get(estimate.metric), collection.epochSeconds);
      const fresh = newWords(compared.get(estimate.metric));
      const made = JSON.stringify([estimate, trend, choices.suffix, found?.textContent, [...fresh]]);
      const before = shown.get(estimate.metric);
      if (before?.made === made) return before.item;
      const item = h("li", { class: "card" }, ...card(estimate, trend, infos.get(estimate.metric), collection, base + estimate.metric + choices.suffix, found, fresh));
      shown.set(estimate.metric, { made, item });
      return item;
    });
    const again = cards.querySelector(".card") !== null;
    swap(cards, ...items);
    if (again) say("The answers have changed.");
    const truth = content.estimates.some((estimate) => rowsOf(estimate).some((row) => row.truth !== undefined));
    swap(marks, ...legend(truth).map(([text, drawing]) => h("span", {}, drawing, text)));
  }

  function describe(estimates) {
    const seconds = collection.epochSeconds;
    const [first] = estimates;
    const text = first
      ? `${windowName(first, seconds)}. Intervals of ${percentOf(first.confidence)} about ${first.target === "TARGET_REPORTING" ? "the devices that reported" : "the population"}. `
      : "";
    const ranked = h("a", { href: `/changes/${title}${choices.suffix}` }, "What has changed");
    swap(about, ranked, `. ${text}${collection.sample < 1 ? `A device takes part in ${+collection.sample.toFixed(6)} of all ${epochWord(seconds)}s, by a coin of its own. ` : ""}A device spends at most epsilon ${+collection.budgetEpoch.toFixed(4)} ${seconds === 3600 ? "an" : "a"} ${epochWord(seconds)}. Asked by ${collection.owner}.`);
  }
}

function card(estimate, trend, info, collection, link, found, fresh) {
  return [
    h("h2", {}, h("a", { href: link, id: `card-${estimate.metric}` }, estimate.metric)),
    h("p", { class: "asked" }, info.description),
    askedSince(info),
    doubtNotice(estimate),
    suspicionNotice(estimate),
    ...body(estimate, info, fresh),
    found,
    ...line(estimate.metric, trend, collection),
    h(
      "p",
      { class: "foot" },
      h("span", {}, reportsLine(estimate)),
      h("span", { class: "tag", title: "What one epoch's answer costs a device" }, `epsilon ${info.epsilonText}`),
      info.memoized ? h("span", { class: "tag", title: "A device remembers its randomised answer" }, "memoized") : null,
      ...expiry(info),
    ),
  ];
}

function body(estimate, info, fresh) {
  if (!hasReports(estimate)) return [emptyNotice("Nothing has come for this window.")];
  const shown = viewOf(estimate, info).card(estimate, fresh);
  return tooFew(estimate) ? [...shown, fewNotice(estimate)] : shown;
}

function line(metric, trend, collection) {
  if (trend.epochs.length < 2) return [];
  const points = trend.epochs.map((epoch, place) => ({
    at: epochStart(epoch, collection.epochSeconds),
    value: Math.min(Math.max(trend.values[place], trend.lows[place]), trend.highs[place]), // where no truth can be, neither can it
    low: trend.lows[place],
    high: trend.highs[place],
  }));
  const caption = `“${trend.key}” over ${plural(points.length, epochWord(collection.epochSeconds))}, with its band`;
  return [spark(metric, caption, points), h("p", { class: "spark-caption" }, caption)];
}

function expiry(info) {
  if (!info.expires) return [];
  const left = new Date(info.expires) - Date.now();
  if (left > SOON) return [];
  return [h("span", { class: "tag state-bad" }, left > 0 ? `expires ${info.expires}` : `expired ${info.expires}`)];
}
