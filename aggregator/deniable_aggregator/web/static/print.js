// On paper: in light colours, as wide as a sheet, with every chart, also those that were never in view.
import { drawAll } from "./charts.js";
import { showIn } from "./theme.js";

export function startPrint() {
  addEventListener("beforeprint", () => laidOut(true));
  addEventListener("afterprint", () => laidOut(false));
}

function laidOut(paper) {
  document.documentElement.classList.toggle("on-paper", paper);
  showIn(paper ? "light" : null);
  drawAll();
}
