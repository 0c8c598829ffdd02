// Asking the aggregator: JSON, and only what has changed.
import { logIn } from "./session.js";

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const known = new Map(); // path -> {tag, content}: what this page has been told

// What is answered, and whether it is another answer than the last time.
export async function ask(path) {
  const before = known.get(path);
  const headers = before?.tag ? { "If-None-Match": before.tag } : {};
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, { headers, cache: "no-store" });
  } catch {
    throw new Refused("The aggregator does not answer.", 0);
  }
  if (response.status === 304) return { content: before.content, changed: false };
  if (response.status === 401) logIn();
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(content.error?.message ?? `The aggregator answers ${response.status}.`, response.status);
  known.set(path, { tag: response.headers.get("ETag"), content });
  return { content, changed: true };
}
