// The keyboard: every action of the page has a key, and `?` lists them.

import { element } from "./dom.js";

const KEYS = [
  ["ArrowRight", "forward", "→", "the next event"],
  ["ArrowLeft", "back", "←", "the event before"],
  ["PageDown", "later", "Page down", "the next run"],
  ["PageUp", "earlier", "Page up", "the run before"],
  ["Home", "first", "Home", "the first event"],
  ["End", "last", "End", "the last event"],
  ["f", "difference", "f", "of several runs: the first difference from the first run"],
  ["e", "error", "e", "the next error"],
  ["u", "unequal", "u", "the next step with unequal parts"],
  ["n", "not_finite", "n", "the next value that is not finite"],
  ["d", "diverged", "d", "the next run that ends with diverged variables"],
  ["/", "search", "/", "search; Enter finds the next, Shift+Enter the one before"],
  ["?", "help", "?", "these keys"],
];

/** Listens to the keys. actions: by name. dialog: the list of the keys. */
export function listen(actions, dialog) {
  const rows = KEYS.map(([, , shown, text]) => element("div", {}, element("dt", {}, element("kbd", {}, shown)), element("dd", {}, text)));
  dialog.querySelector("dl").append(...rows);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest("input:not([type=range]), select, textarea")) return;
    const found = KEYS.find(([key]) => key === event.key);
    if (!found) return;
    event.preventDefault();
    actions[found[1]]?.();
  });
}
