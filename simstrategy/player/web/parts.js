// The data: which rows of the step each replica received.

import { counted, element } from "./dom.js";
import { drawsData, lastUpTo } from "./recording.js";

/** Returns the view, which is left out where no run drew data. index: the stops that draw data, by worker. */
export function partsView(box, state, index) {
  box.closest("section").hidden = !state.data.runs.some(drawsData);
  return () => {
    const run = state.current();
    const shown = index().parts.flatMap((stops, worker) => {
      const place = lastUpTo(stops, state.at, (at) => at);
      return place < 0 ? [] : partsOf(run, worker, stops[place], state);
    });
    const none = !run.has_values ? "This trace has no steps of data." : drawsData(run)
      ? "No step was drawn yet." : "The program drew no step from a distributed dataset.";
    box.replaceChildren(...(shown.length ? shown : [element("p", {}, none)]));
  };
}

function partsOf(run, worker, at, state) {
  const event = run.events[run.stops[at][0]];
  const first = event.rows.length ? event.rows[0][0] : 0;
  const total = event.rows.reduce((sum, [, count]) => sum + count, 0);
  const isUnequal = new Set(event.rows.map(([, count]) => count)).size > 1;
  const of = run.columns.length > 1 ? `Worker ${worker}: ` : "";
  const lines = event.rows.map(([start, count], place) =>
    lineOf(run.columns[worker][place] ?? place, start, count, event.repeated[place], (start - first) / (total || 1), count / (total || 1)));
  return [
    element("p", {}, `${of}${counted(total, "row")}, epoch ${event.epoch}. `,
      isUnequal ? element("strong", { class: "bad" }, "The parts are not equal. ") : null,
      element("button", { type: "button", class: "link", click: () => state.go(at) }, `drawn at ${at + 1}`)),
    element("ul", { class: "parts" }, lines),
  ];
}

function lineOf(rank, start, count, repeated, from, share) {
  const rows = count === 0 ? "no row" : count === 1 ? `row ${start}` : `rows ${start} to ${start + count - 1}`;
  const bar = element("span", { class: "bar" });
  bar.style.marginInlineStart = `${100 * from}%`;
  bar.style.width = `${100 * share}%`;
  return element("li", { class: count ? "part" : "part empty" },
    element("span", { class: "who" }, `replica ${rank}`),
    element("span", { class: "track", "aria-hidden": "true" }, bar),
    element("span", { class: "rows-text" }, `${rows}${count > 1 ? ` (${count})` : ""}`,
      repeated ? element("strong", { class: "bad" }, ` ${counted(repeated, "row")} also on another replica`) : null));
}
