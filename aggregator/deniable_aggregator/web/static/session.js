// What a person's session can do: end, by itself or when told to.

export function logIn() {
  location.assign(`/login?to=${encodeURIComponent(location.pathname + location.search)}`);
}

// A button that ends it, where there is one to end.
export function startSession() {
  const button = document.getElementById("log-out");
  if (document.documentElement.dataset.guarded !== "true") return;
  button.hidden = false;
  button.onclick = async () => {
    await fetch("/logout", { method: "POST" }).catch(() => {});
    location.assign("/login");
  };
}
