// The position: which run, and which stop of it. It stands in the fragment of the address, so a link leads there.

/** Returns the state of a page. data: of the page. changed: called with the state after every change. */
export function makeState(data, changed) {
  const state = { run: 0, at: 0, data };

  state.current = () => data.runs[state.run];
  state.last = () => state.current().stops.length - 1;

  state.go = (at, run = state.run) => {
    state.run = within(run, data.runs.length - 1);
    state.at = within(at, state.last());
    const fragment = fragmentOf(state);
    if (location.hash !== fragment) history.replaceState(null, "", fragment);
    changed(state);
  };

  state.follow = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    const run = numberOf(asked.get("run"), data.start.run + 1) - 1;
    const first = run === data.start.run ? data.start.at + 1 : 1;
    state.go(numberOf(asked.get("at"), first) - 1, run);
  };

  addEventListener("hashchange", state.follow);
  return state;
}

function fragmentOf(state) {
  const run = state.data.runs.length > 1 ? `run=${state.run + 1}&` : "";
  return `#${run}at=${state.at + 1}`;
}

function numberOf(text, otherwise) {
  const number = Number.parseInt(text, 10);
  return Number.isFinite(number) ? number : otherwise;
}

function within(number, last) {
  return Math.max(0, Math.min(number, last));
}
