// Light and dark: as the system has it, or as chosen here.

const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = [];

export function onTheme(listener) {
  listeners.push(listener);
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function chosen() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // the browser keeps nothing for this page
  }
}

function choose(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // it lasts for this page only
  }
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  const other = theme === "dark" ? "light" : "dark";
  button.textContent = theme === "dark" ? "☀ Light" : "☾ Dark";
  button.setAttribute("aria-label", `Show in ${other} colours`);
  button.onclick = () => {
    choose(other);
    show(other);
  };
  for (const listener of listeners) listener();
}

const now = () => chosen() ?? (dark.matches ? "dark" : "light");

// In a theme for a while; null: in that which was chosen.
export const showIn = (theme) => show(theme ?? now());

export function startTheme() {
  dark.addEventListener("change", () => show(now()));
  show(now());
}
