/** Addresses of views: `#play/ID`, `#study?variant=atomic&fen=…`. Every view and tab has one. */
import { signal } from "@preact/signals";

export interface Route {
  view: string;
  rest: string[];
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const [path = "", query = ""] = text.split("?", 2);
  const parts = path.split("/").map(decodeText).filter(Boolean);
  return { view: parts[0] ?? "home", rest: parts.slice(1), query: new URLSearchParams(query) };
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function formatRoute(view: string, rest: string[] = [], query: Record<string, string> = {}): string {
  const path = [view, ...rest].map(encodeURIComponent).join("/");
  const text = new URLSearchParams(query).toString();
  return `#${path}${text ? `?${text}` : ""}`;
}

export const route = signal<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => {
  route.value = parseRoute(location.hash);
});

export function go(view: string, rest: string[] = [], query: Record<string, string> = {}): void {
  location.hash = formatRoute(view, rest, query);
}

/** Change the address without a step in the browser's history. */
export function replaceRoute(view: string, rest: string[] = [], query: Record<string, string> = {}): void {
  history.replaceState(null, "", formatRoute(view, rest, query));
  route.value = parseRoute(location.hash);
}
