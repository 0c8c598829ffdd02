// Which page this is.
import { ask } from "./api.js";
import { changesPage } from "./changes.js";
import { debugPage } from "./debug.js";
import { h, swap } from "./dom.js";
import { healthPage } from "./health.js";
import { metricPage } from "./metric.js";
import { overview } from "./overview.js";
import { startPrint } from "./print.js";
import { startSession } from "./session.js";
import { startTheme } from "./theme.js";

const RETRY = 3_000;

startTheme();
startSession();
startPrint();
start();

async function start() {
  const main = document.getElementById("content");
  try {
    const { content } = await ask("collections");
    show(content.collections, main);
  } catch (error) {
    if (error.status === undefined) throw error;
    swap(main, problem("The aggregator does not answer", `${error.message} Trying again.`));
    setTimeout(start, RETRY);
  }
}

function show(collections, main) {
  const [, section, title, metric] = location.pathname.split("/").map(decodeURIComponent);
  const current = section === "c" || section === "changes" ? title : section === "" ? collections[0]?.title : null;
  navigation(collections, current, section);
  if (section === "debug") return debugPage(main);
  if (section === "health") return healthPage(main);
  const collection = collections.find((own) => own.title === current || own.digest === current);
  if (!collections.length) return swap(main, problem("No collection is served", "Start the aggregator with one: deniable serve metrics.toml"));
  if (!collection) return swap(main, problem("No such collection", `“${current}” is not served here. There is: ${collections.map((own) => own.title).join(", ")}.`));
  if (section === "changes") return changesPage(collection, collection.title, main);
  if (!metric) return overview(collection, collection.title, main);
  const info = collection.metrics.find((own) => own.name === metric);
  if (!info) return swap(main, problem("No such metric", `${collection.title} does not ask “${metric}”.`));
  return metricPage(collection, collection.title, info, main);
}

function navigation(collections, current, section) {
  const links = collections.map((own) => h("a", { href: `/c/${own.title}`, "aria-current": own.title === current ? "page" : null }, own.title));
  links.push(h("a", { href: "/health", "aria-current": section === "health" ? "page" : null }, "Health"));
  if (section === "debug") links.push(h("a", { href: location.href, "aria-current": "page" }, "Debugging"));
  if (document.documentElement.dataset.demo === "true") links.push(h("span", { class: "tag demo" }, "demonstration: simulated devices"));
  else if (collections.some((own) => own.simulated)) links.push(h("span", { class: "tag demo" }, "simulated devices"));
  swap(document.getElementById("collections"), ...links);
}

function problem(title, text) {
  return h("div", { class: "panel" }, h("h1", {}, title), h("p", { class: "about" }, text), h("p", {}, h("a", { href: "/" }, "To the overview")));
}
