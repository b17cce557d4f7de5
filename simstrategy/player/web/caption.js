// What happens at the position, in a sentence, and the text of an error word for word.

import { element } from "./dom.js";
import { BEGINS, stopAt } from "./recording.js";

/** Returns the view. spoken: the sentence, which readers of the screen announce. more: what stands below it. */
export function captionView(spoken, more, state) {
  return () => {
    const run = state.current();
    const { event, phase, caption } = stopAt(run, state.at);
    spoken.textContent = caption;
    const below = [];
    if (event.error && phase !== BEGINS) below.push(element("pre", { class: "error" }, `${event.error[0]}: ${event.error[1]}`));
    if (state.at === state.last() && !run.complete) below.push(element("p", { class: "bad" }, UNFINISHED));
    more.replaceChildren(...below);
  };
}

const UNFINISHED = "The recording has no end: the run was stopped here, or its file was cut off.";
