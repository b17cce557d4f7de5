// Virtual time: what each replica does around the position. Numbers are read for the drawing alone.

import { drawn, element, table } from "./dom.js";
import { lastUpTo } from "./recording.js";

const WIDTH = 600;
const ROW = 16;
const LEFT = 76;
const AROUND = 3;
const DOES = ["computes", "waits", "communicates"];

/** Returns the view; a page without times hides it. */
export function timesView(box, state) {
  return () => {
    const run = state.current();
    const times = run.times;
    box.closest("section").hidden = !times;
    if (!times) return;
    const [event] = run.stops[state.at];
    const place = Math.max(0, lastUpTo(times.points, event, ([number]) => number));
    const point = times.points[place];
    box.replaceChildren(
      element("p", { class: "form" }, times.facts),
      element("p", {}, point && point[0] === event ? point[3] : "No time passes at this event."),
      ...(point ? [chart(times, place, point), legend()] : []),
      element("details", {}, element("summary", {}, "Of the whole run"),
        table("How long each replica did what", ["replica", ...DOES], times.totals)));
  };
}

function chart(times, place, current) {
  const around = times.points.slice(Math.max(0, place - AROUND), place + AROUND + 1);
  const low = Math.min(...around.map(([, begin]) => begin));
  const high = Math.max(...around.map(([, , end]) => end));
  const height = times.rows.length * ROW;
  const x = (time) => LEFT + ((WIDTH - LEFT) * (time - low)) / (high - low || 1);
  const spans = around.flatMap((one) => one[4].map(([row, does, begin, end]) =>
    drawn("rect", { class: `${DOES[does]}${one === current ? " now" : ""}`, x: x(begin).toFixed(2), y: row * ROW + 2,
      width: Math.max(0.5, x(end) - x(begin)).toFixed(2), height: ROW - 4 })));
  const names = times.rows.map((name, row) => drawn("text", { x: 0, y: row * ROW + 12 }, name));
  const picture = drawn("svg", { class: "times", viewBox: `0 0 ${WIDTH} ${height}`, role: "img",
    "aria-label": `Time line of ${times.rows.length} rows around this event. ${current[3]}` }, ...names, ...spans);
  return element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Time line" }, picture);
}

function legend() {
  const one = (does) => element("span", {}, element("span", { class: `swatch ${does}`, "aria-hidden": "true" }), ` ${does} `);
  return element("p", { class: "legend" }, ...DOES.map(one), "· outlined: up to this event");
}
