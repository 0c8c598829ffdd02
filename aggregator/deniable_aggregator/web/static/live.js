// Keeps what is shown up to date: asks again every few seconds while the page is looked at.
import { h, swap } from "./dom.js";

const EVERY = 3_000;
const LONGEST = 30_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export class Live {
  #refresh;
  #timer;
  #every;
  #pause;
  #running = false;
  #wanted = false; // something else is asked for than what is on its way

  constructor(refresh, every = EVERY) {
    this.#refresh = refresh;
    this.#every = this.#pause = every;
    document.addEventListener("visibilitychange", () => document.hidden || this.now());
  }

  // Refreshes at once, and from then on again and again.
  async now() {
    clearTimeout(this.#timer);
    this.#wanted = true;
    if (this.#running) return;
    this.#running = true;
    try {
      while (this.#wanted) {
        this.#wanted = false;
        await this.#refresh();
      }
      this.#pause = this.#every;
      told("live", `Live, ${clock.format(new Date())}`);
      swap(document.getElementById("alert"));
    } catch (error) {
      if (error.status === undefined) throw error;
      this.#pause = Math.min(this.#pause * 1.6, LONGEST);
      told("lost", "Not live");
      complain(error);
    } finally {
      this.#running = false;
      if (!document.hidden) this.#timer = setTimeout(() => this.now(), this.#pause);
    }
  }
}

function told(state, text) {
  const freshness = document.getElementById("freshness");
  freshness.dataset.state = state;
  freshness.textContent = text;
}

function complain(error) {
  const unknown = error.status >= 400 && error.status < 500;
  const text = unknown ? error.message : `${error.message} What is shown may be old; trying again.`;
  const alert = document.getElementById("alert");
  if (alert.textContent !== text) swap(alert, h("p", { class: "notice" }, text));
}
