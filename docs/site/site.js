// What scrolls by itself and what opens a bar can be reached by keyboard, and bars have names for who hears the page.

function reachable() {
  for (const box of document.querySelectorAll(".table-wrapper, .highlight > pre")) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

function opening(label) {
  label.tabIndex = 0;
  label.setAttribute("role", "button");
  label.setAttribute("aria-label", label.classList.contains("nav-overlay-icon") ? "All pages" : "On this page");
  label.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      label.click();
    }
  });
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  document.querySelectorAll(".nav-overlay-icon, .toc-overlay-icon").forEach(opening);
  reachable();
  addEventListener("resize", reachable);
});
