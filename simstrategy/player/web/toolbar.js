// The bar with the position: steps, the slider, jumps and the search.

import { element } from "./dom.js";
import { BEGINS, drawsData, marksAcross, stopAt } from "./recording.js";

const TURNS = ["run", "optimizer_step"];

const JUMPS = [
  ["cause", "c", "cause", "This page has no cause of a finding: a failed check names one where it recognises it."],
  ["difference", "f", "first difference", "No call, and no result that all replicas get, differs from those of the first run. Values of single replicas are not compared."],
  ["error", "e", "error", "No call ended with an error."],
  ["unequal", "u", "unequal parts", "All parts of every step are equal."],
  ["not_finite", "n", "value not finite", "No value becomes infinite, and none is not a number. Infinite values that variables and names begin with are not counted."],
  ["diverged", "d", "divergence", "No variable whose components have to be equal on all replicas ended a run with components that differ."],
];

export const JUMP_NAMES = JUMPS.map(([kind]) => kind);

/** Jumps that go through the runs of the page, and not through one of them. */
const ACROSS = ["cause", "difference"];

/** Returns the actions of the page by name; keys and buttons call them. Those that jump return whether there is a place. */
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
    actions[kind] = ACROSS.includes(kind) ? () => goAcross(state, kind) : () => {
      const places = state.current().marks[kind];
      if (!places.length) return false;
      state.go(near(places, true) ?? places[0]);
      return true;
    };
  }
  return actions;
}

/** Returns where the jump to causes leads in runs that have none of a finding, and ended with an error. */
function raisedIn(state) {
  const where = [...new Set(state.data.runs.map((run) => run.raised))].filter((what) => what !== null);
  const others = state.data.runs.some((run) => run.raised === null && run.marks.cause.length) ? "the cause of a finding, or " : "";
  return where.length ? `${others}where ${where.join(", or ")}: ` : "";
}

/** Returns which runs have no first difference since an error comes before one. */
function endedBefore(state) {
  return state.data.runs.filter((run) => run.difference?.ended).map((run) => `${run.name}: ${run.difference.text}`).join(" ");
}

/** Goes to the first mark of the run that is shown, or of the next one; from a mark to the one after it. Returns false where there is none. */
function goAcross(state, kind) {
  const places = marksAcross(state, kind);
  if (!places.length) return false;
  const here = places.findIndex(([run, at]) => run === state.run && at === state.at);
  const next = here < 0 ? places.find(([run]) => run >= state.run) : places[here + 1];
  const [run, at] = next ?? places[0];
  state.go(at, run);
  return true;
}

/** Returns the jumps of a page: those to differences where it has several runs, to unequal parts where one drew data. */
function shownJumps(state) {
  const { runs } = state.data;
  const left = { difference: runs.length < 2, unequal: !runs.some(drawsData) };
  return JUMPS.filter(([kind]) => !left[kind]);
}

/** Fills the bar; returns what is called after each change. */
export function toolbar(bar, state, actions) {
  const slider = element("input", { type: "range", min: "1", step: "1", "aria-label": "Position", input: () => state.go(slider.valueAsNumber - 1) });
  const where = element("output", { class: "where" });
  const button = (action, [before, text, after], title) => element("button", { type: "button", title, click: actions[action] },
    before, element("span", { class: "word" }, text), after);
  const jumps = shownJumps(state).map(([kind, key, text, none]) => [kind, none, element("button", { type: "button", click: actions[kind] }, text), key]);
  const picker = element("select", { "aria-label": "Run", input: () => state.go(state.sameIn(picker.selectedIndex), picker.selectedIndex) },
    state.data.runs.map((run) => element("option", {}, run.name)));
  const turn = state.data.runs.some((run) => run.events.some((event) => event.kind === "run")) ? "run" : "step";
  bar.append(
    state.data.runs.length > 1 ? picker : "",
    element("div", { class: "group" }, button("first", ["|‹", " first", ""], "Home"), button("earlier", ["«", ` ${turn}`, ""], "Page up"), button("back", ["‹", " back", ""], "Left arrow"),
      button("forward", ["", "forward ", "›"], "Right arrow"), button("later", ["", `${turn} `, "»"], "Page down"), button("last", ["", "last ", "›|"], "End")),
    slider, where,
    element("div", { class: "group jumps", role: "group", "aria-label": "Jump to" }, element("span", { class: "form" }, "jump to"), jumps.map(([, , made]) => made)));
  return () => {
    const run = state.current();
    slider.max = String(run.stops.length);
    slider.value = String(state.at + 1);
    const { phase } = stopAt(run, state.at);
    slider.setAttribute("aria-valuetext", `${state.at + 1} of ${run.stops.length}${phase === BEGINS ? ", begins" : ""}`);
    where.textContent = `event ${state.at + 1} of ${run.stops.length}`;
    picker.selectedIndex = state.run;
    for (const [kind, none, made, key] of jumps) {
      const isAcross = ACROSS.includes(kind);
      const { length } = isAcross ? marksAcross(state, kind) : run.marks[kind];
      made.disabled = !length;
      const counted = `${length} in ${isAcross ? "this page" : "this run"}; key ${key}`;
      const ended = kind === "difference" ? endedBefore(state) : "";
      made.title = length ? `${kind === "cause" ? raisedIn(state) : ""}${counted}${ended && `. ${ended}`}` : ended || none;
    }
  };
}
