// The event at the position: of a synchronisation point what each replica brought and got.

import { element, table } from "./dom.js";
import { linked, madeAt } from "./lines.js";
import { BEGINS, ranksOf, stopAt } from "./recording.js";
import { sumsOf } from "./sums.js";
import { rowOf, valueOf } from "./values.js";

/** Returns the view. */
export function pointView(box, title, state) {
  return () => {
    const run = state.current();
    const { event, phase } = stopAt(run, state.at);
    title.textContent = SPECIAL[event.kind] || SPECIAL[event.operation] || TITLES[event.is];
    const shown = state.arrived ? arriving(run, event, state) : SHOWN[event.is](run, event, phase);
    const button = state.arrivals().length && !state.arrived
      ? [element("button", { type: "button", class: "link", click: () => state.go(state.at, state.run, 1) }, "arrivals one by one")] : [];
    const made = run.variables.find((one) => one.name === event.subject && one.worker === event.worker && event.kind !== "variable");
    const where = made?.made ? [element("p", { class: "form" }, `${made.name} `, madeAt(run, made, state.show))] : [];
    box.replaceChildren(...shown.filter((one) => one !== null), ...where, ...button, ...beside(state, run));
  };
}

/** Returns the first run at this event, where the runs are aligned; folded but for causes and the first difference. */
function beside(state, run) {
  const isDifference = run.difference?.here === state.at;
  const there = isDifference ? run.difference.there : run.aligned?.[state.at] ?? null;
  if (there === null) return [];
  const reference = state.data.runs[0];
  const { event, phase } = stopAt(reference, there);
  const box = element("details", { class: "beside", open: isDifference || state.at in run.notes || state.beside,
    toggle: () => { if (!isDifference && !(state.at in run.notes)) state.beside = box.open; } },
  element("summary", {}, element("h3", {}, besideTitle(run, reference.name, isDifference, STANDS[run.stands[state.at]]))),
  isDifference ? element("p", {}, linked(run.difference.text, run, state.show)) : null,
  ...SHOWN[event.is](reference, event, phase).filter((one) => one !== null),
  apart(run, stopAt(run, state.at).event, reference, event),
  element("button", { type: "button", class: "link", click: () => state.go(there, 0) }, `this event of ${reference.name}`));
  return [box];
}

/** Returns the title of the other run, with how this one stands to it; stands: "" where that is not compared. */
function besideTitle(run, name, isDifference, stands) {
  if (!isDifference) return `The same event in the run with ${name}${stands && `: ${stands}`}`;
  return run.difference.ended ? `No first difference from the run with ${name}: an error comes before one`
    : `First difference from the run with ${name}`;
}

/** What the signs of the data mean: what all replicas have here, against the other run. */
const STANDS = ["", "equal to the bit", "rounding may explain what differs", "another value than here"];

/** Returns how far what the first replica got is from what the other run's has, element by element; null without numbers. */
function apart(run, event, reference, there) {
  const got = (one) => (one.out ? one.out[0] : one.after) || [];
  const lines = [];
  got(event).forEach((number, place) => {
    const [one, other] = [run.values[number], reference.values[got(there)[place]]];
    const isPair = other && one.known && other.known && !one.more && !other.more && one.shape.join() === other.shape.join();
    if (!isPair || !one.dtype.includes("float")) return;
    const less = one.texts.map((text, at) => String(Number((Number(text) - Number(other.texts[at])).toPrecision(6))));
    lines.push([`array ${place + 1}`, element("span", { class: "value elements" }, less.join(" "))]);
  });
  return lines.length ? element("div", {}, element("h3", {}, "How far they are apart"),
    element("p", {}, `What replica 0 has here, less what it has in the run with ${reference.name}.`),
    table("How far the values are apart", ["array", "less the other's"], lines)) : null;
}

/** Returns a point at which not all replicas have arrived. */
function arriving(run, event, state) {
  const step = (by, text) => element("button", { type: "button", click: () => state.arrive(by) }, text);
  return [
    element("p", { class: "request" }, event.label),
    brought(run, event, BEGINS, state.arrivals().slice(state.arrived)),
    element("div", { class: "group" }, step(-1, "‹ arrival"), step(1, "arrival ›")),
  ];
}

const TITLES = {
  point: "Synchronisation point", parts: "Step of data", write: "Write", print: "Printed text", result: "Result",
  nothing: "Nothing",
};

const SPECIAL = { optimizer_step: "Step of the optimizer", holds: "Value of a name" };

const SHOWN = {
  point: (run, event, phase) => [
    element("p", { class: "request" }, event.label),
    event.requests ? requests(run, event) : brought(run, event, phase),
    phase === BEGINS ? null : sumsOf(event),
  ],
  parts: () => [element("p", {}, "A step of data was drawn: the view of the data shows its parts.")],
  write: (run, event) => [
    element("p", { class: "request" }, event.label),
    event.operation === "holds"
      ? table("The value on each replica", ["replica", "value"], event.held ? held(run, event) : written(run, event).map(([who, , after]) => [who, after]))
      : table("Components before and after the write", ["replica", "before", "after"], written(run, event)),
  ],
  print: (run, event) => [element("pre", {}, event.text)],
  nothing: (run, event) => [element("p", {}, event.label)],
  result: (run, event) => [
    event.leaves.length
      ? table("Results", ["result", "value"], event.leaves.map(([path, value]) => [path, valueOf(run, value)]))
      : element("p", {}, "No value was returned."),
  ],
};

/** Returns a table of what replicas brought and got. missing: the ranks that have not arrived. */
function brought(run, event, phase, missing = []) {
  const local = run.columns[event.worker] || [];
  const own = ranksOf(run, event);
  const rows = Math.max(event.in.length, phase === BEGINS ? 0 : event.out.length);
  if (!rows) return element("p", {}, run.has_values ? "No array entered or left this point." : "This trace has no values.");
  const inside = event.replicas.some((rank) => rank !== null);
  const arrivals = inside && run.has_arrivals;
  // A trace without values may have the replicas in an order of its own, and its rows are in that.
  const ranks = rows !== own.length ? local : run.has_values ? [...own].sort((a, b) => a - b) : own;
  const lines = [];
  for (let place = 0; place < rows; place += 1) {
    const rank = ranks[place] ?? place;
    const arrived = event.replicas.indexOf(rank);
    const line = [`replica ${rank}`];
    if (arrivals) line.push(arrived < 0 ? "" : String(arrived + 1));
    if (missing.includes(rank)) {
      lines.push([...line.slice(0, 1), "", "", element("span", { class: "none" }, "has not arrived")]);
      continue;
    }
    if (inside) line.push(siteOf(event, arrived));
    line.push(rowOf(run, event.in[place]));
    if (phase !== BEGINS) line.push(event.out.length ? rowOf(run, event.out[place]) : "");
    lines.push(line);
  }
  const headings = ["replica", ...(arrivals ? ["arrived"] : []), ...(inside ? ["line"] : []), "brought", ...(phase === BEGINS ? [] : ["got"])];
  return table("What each replica brought and got", headings, lines);
}

function requests(run, event) {
  const local = run.columns[event.worker] || [];
  const lines = event.requests.map((text, place) => [
    `replica ${local[place] ?? place}`, element("span", { class: "value" }, text), rowOf(run, event.in[place])]);
  return table("What each replica was doing", ["replica", "was doing", "brought"], lines);
}

function written(run, event) {
  const local = event.replica === null ? run.columns[event.worker] || [] : [event.replica];
  const rows = Math.max(event.before.length, event.after.length);
  return Array.from({ length: rows }, (_, place) => [
    rows === 1 && local.length > 1 ? "all replicas" : `replica ${local[place] ?? place}`,
    place < event.before.length ? valueOf(run, event.before[place]) : "",
    place < event.after.length ? valueOf(run, event.after[place]) : "",
  ]);
}

/** Returns what a name holds on each replica, where one of them has got a value alone. */
function held(run, event) {
  return event.held.map(([rank, value]) => [`replica ${rank}`,
    rank === event.replica ? valueOf(run, value) : element("span", {}, valueOf(run, value), element("span", { class: "form" }, " since before"))]);
}

function siteOf(event, place) {
  return element("span", { class: "value" }, event.sites[place] ?? event.sites[0] ?? "");
}
