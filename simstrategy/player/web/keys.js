// The keyboard: every action of the page has a key, and `?` lists them.

import { element } from "./dom.js";
import { JUMP_NAMES } from "./toolbar.js";

const KEYS = [
  ["ArrowRight", "forward", "→", "the next event"],
  ["ArrowLeft", "back", "←", "the event before"],
  ["Shift+ArrowRight", "arrives", "Shift →", "the next arrival of a replica at a synchronisation point"],
  ["Shift+ArrowLeft", "leaves", "Shift ←", "the arrival before"],
  ["PageDown", "later", "Page down", "the next run, or step of an optimizer"],
  ["PageUp", "earlier", "Page up", "the run or step before"],
  ["Home", "first", "Home", "the first event"],
  ["End", "last", "End", "the last event"],
  ["c", "cause", "c", "the cause that a check found, or the error that ended the program; of several the next one"],
  ["f", "difference", "f", "of several runs: where the next one first differs from the first"],
  ["e", "error", "e", "the next error"],
  ["u", "unequal", "u", "the next step with unequal parts"],
  ["n", "not_finite", "n", "the next value that is not finite"],
  ["d", "diverged", "d", "the next run that ends with diverged variables"],
  ["/", "search", "/", "search; Enter finds the next, Shift+Enter the one before"],
  ["t", "terms", "t", "the terms of this page and what they mean"],
  ["?", "help", "?", "these keys"],
];

/**
 * Listens to the keys. actions: by name. dialog: the list of the keys. inSight: whether the player is. isAt: whether the
 * place that is shown is one of a jump. reveal: brings the player into view, after a jump.
 */
export function listen(actions, dialog, inSight, isAt, reveal) {
  const rows = KEYS.map(([, , shown, text]) => element("div", {}, element("dt", {}, element("kbd", {}, shown)), element("dd", {}, text)));
  dialog.querySelector("dl").append(...rows);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=range]), select, textarea")) return;
    const pressed = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
    const found = KEYS.find(([key]) => key === pressed);
    const isInSight = inSight();
    if (!found || !(isInSight || [...JUMP_NAMES, "terms", "help"].includes(found[1]))) return;
    event.preventDefault();
    // Above the player a jump first brings the place into view that is shown already.
    const isThere = !isInSight && isAt(found[1]);
    if ((isThere || actions[found[1]]?.()) && !isInSight) reveal();
  });
}
