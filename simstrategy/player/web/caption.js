// What happens at the position, in a sentence, and the text of an error word for word.

import { element } from "./dom.js";
import { linked, withKinds } from "./lines.js";
import { BEGINS, marksAcross, stopAt } from "./recording.js";

/** Returns the view. spoken: the sentence, which readers of the screen announce. more: what stands below it. */
export function captionView(spoken, more, state) {
  let shown = "";
  return () => {
    const run = state.current();
    const here = `${state.run} ${state.at} ${state.arrived}`;
    if (here === shown) return; // the focus stays where it is
    shown = here;
    const { event, phase, caption } = stopAt(run, state.at);
    if (state.arrived) {
      spoken.textContent = arrivalText(event, state.arrivals(), state.arrived);
      more.replaceChildren();
      return;
    }
    spoken.textContent = caption;
    const below = [];
    const note = run.notes[state.at];
    const withLines = (text) => linked(text, run, state.show);
    if (note) below.push(noteOf(note, run.causes[state.at] ?? [], withLines, numberOf(state)));
    if (event.error && phase !== BEGINS) below.push(element("pre", { class: "error" }, withLines(`${event.error[0]}: ${event.error[1]}`)));
    if (state.at === state.last() && !run.complete) below.push(element("p", { class: "bad" }, UNFINISHED));
    more.replaceChildren(...below);
  };
}

/** Returns which of the page's causes is shown, as in "Cause 2 of 3 in all runs. "; "" where there is one alone. */
function numberOf(state) {
  const all = marksAcross(state, "cause");
  const here = all.findIndex(([run, at]) => run === state.run && at === state.at);
  const runs = new Set(all.map(([run]) => run));
  return here < 0 || all.length < 2 ? "" : `Cause ${here + 1} of ${all.length}${runs.size > 1 ? " in all runs" : ""}. `;
}

/** Returns a cause: the line of it and its kind, and the whole text folded; without them the text alone. */
function noteOf(note, lines, withLines, counted) {
  const [kinds] = note.match(KINDS) ?? [""];
  if (lines.length !== 1 && !kinds) return element("p", { class: "note" }, counted, withLines(note));
  const short = [...(counted ? [counted] : []), ...(lines.length === 1 ? [kinds ? "The line of the cause is " : "It shows at ", ...withLines(lines[0]), kinds ? ". " : ": its kind is not recognised."] : []), ...(kinds ? [`${kinds}.`] : [])];
  return element("div", { class: "note" }, element("p", {}, withKinds(short)),
    element("details", {}, element("summary", {}, "the whole cause"), element("p", {}, withLines(note))));
}

/** The first sentence that names a kind; the name of one has no full stop. */
const KINDS = /The kind is (?!not )[^:.]+/;

function arrivalText(event, ranks, arrived) {
  const missing = ranks.slice(arrived);
  const shown = missing.length > NAMED ? `${missing.length} replicas` : `replica${missing.length > 1 ? "s" : ""} ${missing.join(", ")}`;
  const who = arrived > 1 ? `the ${arrived} that are here wait` : "it waits";
  return `Replica ${ranks[arrived - 1]} arrives at ${event.label}, ${arrived} of ${ranks.length}: ${who} for ${shown}.`;
}

const NAMED = 6;
const UNFINISHED = "The recording has no end: the run was stopped here, or its file was cut off.";
