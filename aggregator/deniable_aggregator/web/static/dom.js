// Elements, without a template language: h("p", {class: "about"}, "text", child, ...).

export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Puts new content in place of old and leaves the focus where it was, by the id of the element that has it.
export function swap(container, ...children) {
  const focused = container.contains(document.activeElement) ? document.activeElement.id : "";
  container.replaceChildren(...children.flat().filter(Boolean));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// Says something to those who listen instead of looking, at most every twenty seconds.
let saidAt = -Infinity;
export function say(text) {
  if (performance.now() - saidAt < 20_000) return;
  saidAt = performance.now();
  document.getElementById("said").textContent = text;
}

const COUNTS = new Intl.NumberFormat("en-US");
export const count = (number) => COUNTS.format(Number(number));
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${Number(number) === 1 ? one : many}`;

export function table(caption, header, rows) {
  const head = header.map((text) => h("th", { scope: "col" }, text));
  const body = rows.map(([first, ...rest]) =>
    h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((cell) => h("td", {}, cell))),
  );
  return h(
    "div",
    { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
  );
}

// A table that is folded away; it stays open when the page around it is made anew.
export function details(id, content, name = "As a table") {
  const open = document.getElementById(id)?.parentElement.open ?? false;
  return h("details", { open }, h("summary", { id }, name), content);
}
