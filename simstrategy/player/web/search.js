// The search over the captions of all stops.

import { element } from "./dom.js";

/** Fills the search; returns the field. */
export function search(box, state) {
  const found = element("output", {});
  const field = element("input", {
    type: "search", placeholder: "search events", "aria-label": "Search events",
    keydown: (event) => {
      if (event.key === "Enter") found.textContent = next(state, field.value.toLowerCase(), event.shiftKey);
      if (event.key === "Escape") field.blur();
    },
  });
  box.append(field, found);
  return field;
}

/** Goes to the next stop with a text, and on from the other end; returns what came of it. */
function next(state, text, isBack) {
  const run = state.current();
  const count = run.stops.length;
  if (!text) return "";
  for (let step = 1; step <= count; step += 1) {
    const at = (state.at + (isBack ? count - step : step)) % count;
    const [event, , caption] = run.stops[at];
    if (`${caption} ${run.events[event].label}`.toLowerCase().includes(text)) {
      state.go(at);
      return "";
    }
  }
  return "not found";
}
