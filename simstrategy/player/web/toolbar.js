// The bar with the position: steps, the slider, jumps and the search.

import { element } from "./dom.js";
import { BEGINS, stopAt } from "./recording.js";

const TURNS = ["run", "optimizer_step"];

const JUMPS = [
  ["difference", "f", "first difference", "No call and no common result of any run differs from those of the first."],
  ["error", "e", "error", "No call ended with an error."],
  ["unequal", "u", "unequal parts", "All parts of every step are equal."],
  ["not_finite", "n", "value not finite", "All recorded values are finite."],
  ["diverged", "d", "divergence", "No run ended with components that differ."],
];

/** Returns the actions of the page by name; keys and buttons call them. */
export function actionsOf(state) {
  const near = (places, ahead) => (ahead ? places.find((at) => at > state.at) : places.findLast((at) => at < state.at));
  const runs = () => state.current().stops.flatMap(([event, phase], at) =>
    TURNS.includes(state.current().events[event].kind) && phase !== 2 ? [at] : []);
  const actions = {
    first: () => state.go(0),
    back: () => state.go(state.at - 1),
    forward: () => state.go(state.at + 1),
    last: () => state.go(state.last()),
    arrives: () => state.arrive(1),
    leaves: () => state.arrive(-1),
    earlier: () => state.go(near(runs(), false) ?? 0),
    later: () => state.go(near(runs(), true) ?? state.last()),
  };
  for (const [kind] of shownJumps(state)) {
    actions[kind] = () => {
      const places = state.current().marks[kind];
      if (places.length) state.go(near(places, true) ?? places[0]);
    };
  }
  actions.difference = () => {
    const { runs } = state.data;
    const isThere = runs[state.run].marks.difference[0] === state.at;
    const order = runs.map((_, place) => (state.run + place + (isThere ? 1 : 0)) % runs.length);
    const next = order.find((run) => runs[run].marks.difference.length);
    if (next !== undefined) state.go(runs[next].marks.difference[0], next);
  };
  return actions;
}

/** Returns the jumps of a page: those to differences where it has several runs. */
function shownJumps(state) {
  return JUMPS.filter(([kind]) => kind !== "difference" || state.data.runs.length > 1);
}

/** Fills the bar; returns what is called after each change. */
export function toolbar(bar, state, actions) {
  const slider = element("input", { type: "range", min: "1", step: "1", "aria-label": "Position", input: () => state.go(slider.valueAsNumber - 1) });
  const where = element("output", { class: "where" });
  const button = (action, text, title) => element("button", { type: "button", title, click: actions[action] }, text);
  const jumps = shownJumps(state).map(([kind, key, text, none]) => [kind, none, element("button", { type: "button", click: actions[kind] }, text), key]);
  const picker = element("select", { "aria-label": "Run", input: () => state.go(state.at, picker.selectedIndex) },
    state.data.runs.map((run) => element("option", {}, run.name)));
  const turn = state.data.runs.some((run) => run.events.some((event) => event.kind === "run")) ? "run" : "step";
  bar.append(
    state.data.runs.length > 1 ? picker : "",
    element("div", { class: "group" }, button("first", "|‹ first", "Home"), button("earlier", `« ${turn}`, "Page up"), button("back", "‹ back", "Left arrow"),
      button("forward", "forward ›", "Right arrow"), button("later", `${turn} »`, "Page down"), button("last", "last ›|", "End")),
    slider, where,
    element("div", { class: "group", role: "group", "aria-label": "Jump to" }, element("span", { class: "form" }, "jump to"), jumps.map(([, , made]) => made)));
  return () => {
    const run = state.current();
    slider.max = String(run.stops.length);
    slider.value = String(state.at + 1);
    const { phase } = stopAt(run, state.at);
    slider.setAttribute("aria-valuetext", `${state.at + 1} of ${run.stops.length}${phase === BEGINS ? ", begins" : ""}`);
    where.textContent = `${state.at + 1} of ${run.stops.length}`;
    picker.selectedIndex = state.run;
    for (const [kind, none, made, key] of jumps) {
      const places = kind === "difference" ? state.data.runs.flatMap((one) => one.marks[kind]) : run.marks[kind];
      made.disabled = !places.length;
      made.title = places.length ? `${places.length} in ${kind === "difference" ? "this page" : "this run"}; key ${key}` : none;
    }
  };
}
