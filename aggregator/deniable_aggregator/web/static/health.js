// How the aggregator itself is doing.
import { ask } from "./api.js";
import { histogram } from "./charts.js";
import { count, details, h, plural, swap, table } from "./dom.js";
import { Live } from "./live.js";
import { epochName } from "./time.js";

const REASONS = {
  MALFORMED_BATCH: "not a batch as the collection describes it",
  OTHER_COLLECTION: "with a token that is not good for their collection",
  UNKNOWN_COLLECTION: "of a collection that this aggregator does not know",
  EPOCH_TOO_OLD: "of an epoch that is no longer accepted",
  EPOCH_TOO_NEW: "of an epoch that has not begun: the device's clock may be off",
  COLLECTION_RETIRED: "of a collection that is retired",
  BUSY: "too many batches were waiting",
  STORE_UNAVAILABLE: "the store could not take them",
  DRAINING: "the aggregator was ending",
  NO_TOKEN: "without a token that is known here",
  OTHER_SCOPE: "with a token that is not good for reporting",
};

export function healthPage(main) {
  const tiles = h("dl", { class: "tiles" }, ...Array.from({ length: 6 }, () => h("div", { class: "wait" })));
  const notices = h("div", { id: "notices" });
  const panels = h("div", { class: "panels" });
  let before = null;
  swap(main, h("div", { class: "headline" }, h("h1", {}, "This aggregator"), h("p", {}, "What has come in, what was refused, and whether it is kept safely.")), notices, tiles, panels);
  document.title = "Health · Deniable";
  return new Live(refresh).now();

  async function refresh() {
    const { content } = await ask("health");
    const rate = before && content.time > before.time ? (content.ingest.accepted - before.ingest.accepted) / (content.time - before.time) : null;
    before = content;
    swap(notices, ...warnings(content).map((text) => h("p", { class: "notice bad" }, text)));
    swap(tiles, ...numbers(content, rate).map(([name, value, more]) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, more ? h("div", { class: "more" }, more) : null))));
    swap(panels, latency(content.ingest), refusals(content.ingest), fleets(content.fleets), reloads(content.reloads));
  }
}

function warnings({ store, fleets }) {
  const found = [];
  if (!store) found.push("The store does not answer. Batches are refused, devices keep them and try again.");
  if (store?.evicted) found.push("The store has thrown keys away to make room: counts may be missing. Set maxmemory-policy noeviction.");
  if (store?.memory_limit_bytes && store.memory_bytes > 0.9 * store.memory_limit_bytes) found.push("The store is nearly full.");
  for (const fleet of fleets) {
    if (fleet.marginSeconds !== null && fleet.marginSeconds <= 0) found.push(`${fleet.collection}: ids are forgotten while their batches would still be taken.`);
  }
  return found;
}

function numbers({ ingest, store, version, started, time }, rate) {
  const refused = Object.values(ingest.refused).reduce((sum, own) => sum + own, 0);
  const flushes = ingest.flushSeconds.counts.reduce((sum, own) => sum + own, 0);
  const mean = flushes ? ingest.flushSeconds.total / flushes : null;
  return [
    ["batches accepted", count(ingest.accepted), rate === null ? "" : `${count(Math.round(rate))} a second now`],
    ["reports in them", count(ingest.reports)],
    ["duplicates", count(ingest.duplicate), "sent again, not counted again"],
    ["refused", count(refused)],
    ["waiting", count(ingest.waiting)],
    ["time to store", mean === null ? "–" : duration(mean), mean === null ? "" : `mean of ${plural(flushes, "flush", "flushes")}`],
    ["store", h("span", { class: store ? "state-good" : "state-bad" }, store ? "answers" : "away"), store ? `${store.server}, ${duration(store.seconds)}` : ""],
    ["store's memory", store ? bytes(store.memory_bytes) : "–", store?.memory_limit_bytes ? `of ${bytes(store.memory_limit_bytes)}` : store ? "no limit set" : ""],
    ["running for", span(time - started), `version ${version}`],
  ];
}

function latency(ingest) {
  const { bounds, counts } = ingest.flushSeconds;
  const bins = counts.map((own, place) => ({ label: place < bounds.length ? `≤ ${duration(bounds[place])}` : `> ${duration(bounds.at(-1))}`, count: own }));
  return h(
    "section",
    { class: "panel" },
    h("h2", {}, "Time to store"),
    h("p", { class: "about" }, "Batches that arrive together are stored together, and acknowledged only then. How long that took:"),
    counts.some(Boolean) ? histogram("flushes", "Flushes by duration; the table below has the numbers", bins) : h("p", {}, "Nothing has been stored yet."),
    details("latency-table", table("Flushes by duration", ["duration", "flushes"], bins.map((bin) => [bin.label, count(bin.count)]))),
  );
}

function refusals(ingest) {
  const rows = Object.entries({ ...ingest.refused }).sort(([, one], [, other]) => other - one);
  const errors = Object.entries(ingest.storeErrors);
  return h(
    "section",
    { class: "panel" },
    h("h2", {}, "Refused batches"),
    rows.length
      ? table("Refused batches by reason", ["reason", "what it means", "batches"], rows.map(([reason, number]) => [reason, REASONS[reason] ?? "", count(number)]))
      : h("p", { class: "about" }, "None since the counts began."),
    errors.length ? table("Errors of the store", ["error", "flushes"], errors.map(([name, number]) => [name, count(number)])) : null,
  );
}

function fleets(all) {
  return h(
    "section",
    { class: "panel" },
    h("h2", {}, "Epochs that are still accepted"),
    h("p", { class: "about" }, "Batches by the epoch that they are about. Their ids are remembered for longer than they are accepted, so that none is counted twice."),
    ...all.map((fleet) => {
      const versions = all.filter((own) => own.collection === fleet.collection).length;
      const name = versions > 1 ? `${fleet.collection}@${fleet.digest}` : fleet.collection;
      const rows = Object.entries(fleet.batches).reverse().map(([epoch, own]) => [epochName(Number(epoch), fleet.epochSeconds), count(own)]);
      const margin = fleet.marginSeconds === null ? "" : `; ids outlive acceptance by ${fleet.marginSeconds > 0 ? span(fleet.marginSeconds) : "nothing"}`;
      const retired = fleet.retired ? `; retired from ${fleet.retired} on: nothing of a later epoch is taken` : "";
      return rows.length
        ? table(`${name}${retired}${margin}`, ["epoch", "batches"], rows)
        : h("p", {}, `${name}${retired}: nothing has come.`);
    }),
  );
}

// What became of the collections that are served, since the aggregator began.
function reloads(all) {
  const rows = all.flatMap(({ time, changes }) => changes.map((own) => [moment(time), own]));
  return h(
    "section",
    { class: "panel" },
    h("h2", {}, "Collections that were read again"),
    rows.length
      ? table("What is served otherwise than before", ["when", "what has changed"], rows)
      : h("p", { class: "about" }, "What is served is what was served at the beginning."),
  );
}

const moment = (time) => new Date(time * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC";

function duration(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  return seconds < 1 ? `${+(seconds * 1000).toPrecision(2)} ms` : `${+seconds.toPrecision(2)} s`;
}

function bytes(number) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (number >= size) return `${(number / size).toFixed(1)} ${unit}`;
  return `${number} B`;
}

function span(seconds) {
  for (const [unit, size] of [["day", 86_400], ["hour", 3600], ["minute", 60]]) if (seconds >= size) return plural(Math.floor(seconds / size), unit);
  return plural(Math.max(Math.floor(seconds), 0), "second");
}
