// The position: which run, and which stop of it. It stands in the fragment of the address, so a link leads there.

import { lineOf } from "./lines.js";
import { arrivalsAt } from "./recording.js";

/**
 * Returns the state of a page. data: of the page. changed: called with the state after every change. revealed: called
 * after a change that a line was asked for.
 */
export function makeState(data, changed, revealed) {
  let isShown = false;
  const state = { run: 0, at: 0, arrived: 0, line: null, beside: false, data };

  state.current = () => data.runs[state.run];
  state.last = () => state.current().stops.length - 1;

  /** Returns the stop of a run that is the same event as the one that is shown; the same number where it is not known. */
  state.sameIn = (run) => {
    const there = data.runs[state.run].aligned ? data.runs[state.run].aligned[state.at] : state.at;
    const found = data.runs[run].aligned ? data.runs[run].aligned.indexOf(there) : there;
    return there === null || found === -1 ? state.at : found;
  };

  state.arrivals = () => arrivalsAt(state.current(), state.at);

  /** Goes to a stop. arrived: how many replicas have arrived there; 0 for all. */
  state.go = (at, run = state.run, arrived = 0) => {
    state.run = within(run, data.runs.length - 1);
    state.at = within(at, state.last());
    state.arrived = arrived > 0 && arrived < state.arrivals().length ? arrived : 0;
    const cause = state.current().causes[state.at] ?? [];
    // Of several lines none is the one that is shown.
    state.line = cause.length === 1 ? lineOf(state.current(), cause[0]) : null;
    const fragment = fragmentOf(state);
    if (location.hash !== fragment) history.replaceState(null, "", fragment);
    changed(state);
  };

  /** Shows a line of the program, with its file and number. */
  state.show = (line) => {
    state.line = line;
    changed(state);
    revealed();
  };

  /** Goes to the next arrival of a replica, or the one before. step: 1 or -1. */
  state.arrive = (step) => {
    const now = state.arrived || state.arrivals().length;
    if (step > 0 && state.arrived) state.go(state.at, state.run, now + 1);
    else if (step > 0 && state.at < state.last()) state.go(state.at + 1, state.run, 1);
    else if (step < 0 && now > 1) state.go(state.at, state.run, now - 1);
    else if (step < 0) state.go(state.at - 1);
  };

  state.follow = () => {
    if (isShown && location.hash && !isPosition(location.hash)) return; // the meaning of a word
    isShown = true;
    const asked = new URLSearchParams(location.hash.slice(1));
    const run = numberOf(asked.get("run"), data.start.run + 1) - 1;
    const first = run === data.start.run ? data.start.at + 1 : 1;
    state.go(numberOf(asked.get("at"), first) - 1, run, numberOf(asked.get("arrived"), 0));
    const line = lineOf(state.current(), asked.get("line") ?? "");
    if (line) state.show(line);
  };

  addEventListener("hashchange", state.follow);
  return state;
}

/** Returns whether a fragment names a position, and not a word of the report. */
export function isPosition(fragment) {
  return /^#(run|at|arrived|line)=/.test(fragment);
}

function fragmentOf(state) {
  const run = state.data.runs.length > 1 ? `run=${state.run + 1}&` : "";
  return `#${run}at=${state.at + 1}${state.arrived ? `&arrived=${state.arrived}` : ""}`;
}

function numberOf(text, otherwise) {
  const number = Number.parseInt(text, 10);
  return Number.isFinite(number) ? number : otherwise;
}

function within(number, last) {
  return Math.max(0, Math.min(number, last));
}
