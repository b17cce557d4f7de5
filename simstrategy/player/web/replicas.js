// The replicas: time as the order of events, a column for each replica. Only the rows and columns in sight are in the document.

import { element } from "./dom.js";
import { BEGINS, ENDS, placeOf, ranksOf, sitesOf, stopAt } from "./recording.js";

const ROW = 26;
const BEYOND = 8;
/** Columns come into the document in blocks of so many. */
const BLOCK = 16;
const COLUMN_REM = 1.9;

/** Returns the view. box: the element that scrolls. */
export function replicasView(box, state) {
  const head = element("div", { id: "ranks", "aria-hidden": "true" });
  const rows = element("div", { class: "rows", role: "presentation" });
  box.append(head, rows);
  let shown = null;
  let partial = -1;

  const drawn = new Map();
  let columns = [0, 0];

  /** Makes the rows that came into sight, and drops those that left it; all, where other columns come into sight. */
  const draw = () => {
    const run = state.current();
    const inSight = columnsInSight(box, run.columns.flat().length);
    if (inSight.join() !== columns.join()) {
      columns = inSight;
      rows.replaceChildren();
      drawn.clear();
    }
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - BEYOND);
    const last = Math.min(run.stops.length, first + Math.ceil(box.clientHeight / ROW) + 2 * BEYOND);
    for (const [at, row] of drawn) {
      if (at < first || at >= last) {
        row.remove();
        drawn.delete(at);
      }
    }
    for (let at = first; at < last; at += 1) {
      if (!drawn.has(at)) {
        drawn.set(at, rowAt(run, at, state, columns));
        rows.append(drawn.get(at));
      }
      drawn.get(at).classList.toggle("current", at === state.at);
      drawn.get(at).setAttribute("aria-selected", String(at === state.at));
    }
    box.setAttribute("aria-activedescendant", `stop-${state.at}`);
  };

  const redraw = (at) => {
    drawn.get(at)?.remove();
    drawn.delete(at);
  };

  box.addEventListener("scroll", () => requestAnimationFrame(draw));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    state.go(state.at + step);
  });
  addEventListener("resize", draw);

  return () => {
    const run = state.current();
    if (shown !== run) {
      shown = run;
      rows.replaceChildren();
      drawn.clear();
      rows.style.height = `${run.stops.length * ROW}px`;
      box.style.setProperty("--replicas", String(run.columns.flat().length));
      head.replaceChildren(...headings(run));
      box.parentElement.querySelector(".versus").hidden = !run.stands;
    }
    reveal(box, state.at);
    redraw(partial);
    partial = state.arrived ? state.at : -1;
    redraw(partial);
    draw();
  };
}

function reveal(box, at) {
  const top = at * ROW;
  const room = box.clientHeight - 3 * ROW;
  if (top < box.scrollTop + ROW) box.scrollTop = top - ROW;
  else if (top > box.scrollTop + room) box.scrollTop = top - room;
}

/** Returns the first column in sight, and the one after the last. */
function columnsInSight(box, count) {
  const width = COLUMN_REM * parseFloat(getComputedStyle(document.documentElement).fontSize);
  const block = (pixels) => Math.floor(pixels / width / BLOCK) * BLOCK;
  return [Math.min(block(box.scrollLeft), count), Math.min(block(box.scrollLeft + box.clientWidth) + BLOCK, count)];
}

function headings(run) {
  const many = run.columns.length > 1;
  const names = run.columns.flatMap((ranks, worker) => ranks.map((rank, place) =>
    element("span", { class: place || !many ? "rank" : "rank first", title: many ? `worker ${worker}` : null }, String(rank))));
  return [element("span", { class: "what" }, many ? "event · replicas, by worker" : "event · replicas"), ...names];
}

function rowAt(run, at, state, [from, to]) {
  const { event, phase, caption } = stopAt(run, at);
  const isPartial = state.arrived && at === state.at;
  const ranks = isPartial ? state.arrivals().slice(0, state.arrived) : ranksOf(run, event);
  const places = run.columns.flatMap((column) => column.map((rank, place) => [rank, place]));
  const cells = places.slice(from, to).map(([rank, place]) => {
    const mark = ranks.includes(rank) ? markOf(run, event, isPartial ? BEGINS : phase, rank, place) : "";
    const first = run.columns.length > 1 && !place ? " first" : "";
    return element("span", { class: `cell ${mark ? kindOf(event) : ""}${first}` }, mark);
  });
  if (cells.length) {
    cells[0].style.marginInlineStart = `${from * COLUMN_REM}rem`;
    cells.at(-1).style.marginInlineEnd = `${(places.length - to) * COLUMN_REM}rem`;
  }
  const isApart = run.stands?.[at] === "3";
  const row = element("div", {
    class: `row${event.error && phase !== BEGINS ? " failed" : ""}`,
    role: "option",
    id: `stop-${at}`,
    "aria-posinset": String(at + 1),
    "aria-setsize": String(run.stops.length),
    "aria-label": `${at + 1}. ${caption}${isApart ? ` ${APART}` : ""}`,
    title: isApart ? `${textOf(event, phase)}. ${APART}` : textOf(event, phase),
    click: () => state.go(at),
  }, element("span", { class: "what" }, element("span", { class: "number" }, String(at + 1)),
    isApart ? element("span", { class: "apart" }, "Δ ") : null, textOf(event, phase), lineAt(event)), cells);
  row.style.top = `${at * ROW}px`;
  return row;
}

/** Returns the number of the line at which an event is, where that is one line. */
function lineAt(event) {
  const lines = new Set(sitesOf(event).map((site) => placeOf(site)[1]).filter((number) => number));
  return lines.size === 1 ? element("span", { class: "at-line" }, `:${[...lines][0]}`) : null;
}

const APART = "All replicas have another value here than in the first run of the page.";

function textOf(event, phase) {
  if (phase === ENDS) return `end of ${event.label}`;
  return event.is === "point" && phase === BEGINS && event.kind !== "run" ? `${event.label} begins` : event.label;
}

function kindOf(event) {
  return event.is === "point" && event.replicas.includes(null) ? "program" : event.is;
}

/** Returns what stands in the column of a replica: of a call its place in the order of arrival. */
function markOf(run, event, phase, rank, place) {
  if (event.is === "parts") return String(event.rows[place] ? event.rows[place][1] : "");
  if (event.is === "write") return event.operation === "holds" ? (event.differs ? "≠" : "=") : "w";
  if (event.is === "print") return "p";
  if (event.is === "result") return event.error ? "✗" : "✓";
  if (event.is === "nothing") return "";
  if (event.error && phase !== BEGINS) return "✗";
  if (event.kind === "run") return phase === ENDS ? "■" : "▶";
  if (event.replicas.includes(null)) return "·";
  if (phase === ENDS) return "■";
  return !run.has_arrivals ? "●" : String(event.replicas.indexOf(rank) + 1);
}
