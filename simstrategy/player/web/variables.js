// The variables: their components at the position, and how they came there.

import { drawn, element } from "./dom.js";
import { madeAt } from "./lines.js";
import { lastUpTo } from "./recording.js";
import { shortText, valueOf } from "./values.js";

const WIDTH = 220;
const HEIGHT = 36;
const POINTS = 200;

/** Returns the view. */
export function variablesView(box, state) {
  return () => {
    const run = state.current();
    // What a point writes is there when all have arrived.
    const until = state.arrived ? state.at - 1 : state.at;
    const made = run.variables.filter((one) => one.writes.length && one.writes[0][0] <= until).map((one) => stateOf(one, until));
    const shown = [...made.filter(differs).sort((a, b) => placeOf(b) - placeOf(a)), ...made.filter((one) => !differs(one))];
    const none = !run.has_values ? "This trace has no variables."
      : run.variables.length ? "No variable was created yet." : "The program has no variable.";
    box.replaceChildren(...(shown.length ? shown.map((one) => variable(run, one, state)) : [element("p", {}, none)]));
    const now = box.querySelector(".variable.now");
    if (now) box.scrollTop = now.offsetTop - box.offsetTop;
  };
}

/** Returns a variable with its last write, and what its replicas hold after it. until: the last stop that counts. */
function stateOf(one, until) {
  const last = lastUpTo(one.writes, until, ([at]) => at);
  return { one, last, held: componentsAt(one, last) };
}

/** Returns whether replicas hold different values: these variables stand first, the last written of them before the others. */
function differs({ held }) {
  return new Set(held.values()).size > 1;
}

function placeOf({ one, last }) {
  return one.writes[last][0];
}

function variable(run, { one, last, held }, state) {
  const values = [...new Set(held.values())];
  const worker = run.columns.length > 1 ? `, worker ${one.worker}` : "";
  const apart = values.length > 1 ? "values differ between replicas" : "one value for each replica";
  const kind = one.apart ? apart : one.aggregation === null ? "" : `aggregation ${one.aggregation}`;
  const [at, operation] = one.writes[last];
  const isNow = at === state.at;
  const isHeld = operation === "holds";
  const done = isHeld ? "value" : operation;
  return element("div", { class: `variable${isNow ? " now" : ""}` },
    element("h3", {}, one.name, element("span", { class: "form" }, ` ${kind}${worker}`)),
    one.made ? element("p", { class: "form" }, madeAt(run, one, state.show)) : null,
    values.length === 1
      ? element("p", {}, element("span", { class: "form" }, held.size > 1 ? `equal on ${held.size} replicas: ` : ""), valueOf(run, values[0]))
      : differing(run, one, held),
    element("p", { class: "history" },
      isNow ? element("strong", {}, `${done} here`) : jump(state, at, `${done} at ${at + 1}`),
      last + 1 < one.writes.length ? jump(state, one.writes[last + 1][0], `next ${isHeld ? "value" : "write"} at ${one.writes[last + 1][0] + 1}`) : null),
    chart(run, one, last));
}

function differing(run, one, held) {
  const lines = [...held].sort(([a], [b]) => a - b).map(([rank, value]) =>
    element("li", {}, element("span", { class: "who" }, `replica ${rank}: `), valueOf(run, value)));
  const text = one.apart ? null : element("p", {}, element("strong", { class: "bad" }, "The components differ."));
  return element("div", {}, text, element("ul", { class: "components" }, lines));
}

function jump(state, at, text) {
  return element("button", { type: "button", class: "link", click: () => state.go(at) }, text);
}

/** Returns the component of each replica after a write. */
function componentsAt(one, last) {
  const held = new Map();
  const missing = new Set(one.ranks);
  for (let place = last; place >= 0; place -= 1) {
    const [, , changed] = one.writes[place];
    for (const [rank, value] of changed) if (!held.has(rank)) held.set(rank, value);
    for (const [rank] of changed) missing.delete(rank);
    if (!missing.size && place) break;
  }
  return held;
}

/** Draws the first element of each component over the writes, with the least and the greatest beside it; numbers are read for the drawing alone. */
function chart(run, one, last) {
  const step = Math.max(1, Math.ceil(one.writes.length / POINTS));
  const lines = new Map();
  one.writes.forEach(([, , changed], place) => {
    if (place % step && place !== last) return;
    for (const [rank, value] of changed) {
      const text = run.values[value].texts[0];
      const number = Number(text);
      if (!Number.isFinite(number)) continue;
      if (!lines.has(rank)) lines.set(rank, []);
      lines.get(rank).push([place, number, text]);
    }
  });
  // Components that are equal have one line.
  const different = [...new Map([...lines.values()].map((line) => [line.join(";"), line])).values()];
  const points = different.flat();
  if (points.length < 3 || one.writes.length < 3) return null;
  const [, low, least] = points.reduce((a, b) => (b[1] < a[1] ? b : a));
  const [, high, greatest] = points.reduce((a, b) => (b[1] > a[1] ? b : a));
  const x = (place) => 4 + ((WIDTH - 8) * place) / (one.writes.length - 1);
  const y = (number) => HEIGHT - 4 - ((HEIGHT - 8) * (number - low)) / (high - low || 1);
  const name = `First element of ${one.name} over ${one.writes.length} writes, now ${shortText(run, one.writes[last][2][0][1])}`;
  const drawing = drawn("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": name },
    drawn("line", { class: "now", x1: x(last), x2: x(last), y1: 0, y2: HEIGHT }),
    ...different.map((line) =>
      drawn("polyline", { points: line.map(([place, number]) => `${x(place).toFixed(1)},${y(number).toFixed(1)}`).join(" ") })));
  // Of several elements the first is drawn.
  const of = run.values[one.writes[last][2][0][1]].texts.length > 1 ? ", first element" : "";
  return element("div", { class: "curve" }, drawing, element("span", { class: "form" }, `${least} to ${greatest}${of}`));
}
