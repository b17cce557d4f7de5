// The source, with the lines at which the replicas are.

import { element } from "./dom.js";
import { lineOf } from "./lines.js";
import { placeOf, sitesOf, stopAt } from "./recording.js";

/** Characters of a word that may not fit into a row of a narrow window. */
const LONG = 18;

/** Returns the view. index: the stops of each call site. */
export function sourceView(box, title, state, index) {
  let shown = null;
  let lines = [];
  let marked = [];
  return () => {
    const run = state.current();
    const { event } = stopAt(run, state.at);
    const sites = sitesOf(event);
    const file = state.line ? state.line.file : fileAt(run, state.at);
    if (!shown || shown.run !== run || shown.file !== file) {
      shown = { run, file };
      title.textContent = file ? `Source: ${file}` : "Source";
      lines = linesOf(run, file, state, index());
      marked = [];
      box.style.setProperty("--digits", String(lines.length).length);
      box.replaceChildren(...(lines.length ? lines : [element("p", {}, without(run, file))]));
      for (const line of causesIn(run, file, lines)) markCause(line);
    }
    for (const line of marked) unmark(line);
    marked = mark(lines, file, event, sites, state.arrived || Infinity);
    const named = state.line && lines[state.line.number - 1];
    if (named) {
      named.classList.add("named");
      marked = [named, ...marked];
    }
    if (marked.length) {
      const top = marked[0].offsetTop - box.offsetTop;
      if (top < box.scrollTop + 20 || top > box.scrollTop + box.clientHeight - 60) box.scrollTop = top - box.clientHeight / 3;
    }
  };
}

function without(run, file) {
  return file ? `The text of ${file} is not in this page: the recording does not hold it, and no file beside it is known to be the same.` : "The recording does not state its program.";
}

/** Returns the file of a stop: of the last event up to it whose file is known, or else the program. */
function fileAt(run, last) {
  for (let at = last; at >= 0; at -= 1) {
    const file = sitesOf(stopAt(run, at).event).map((site) => placeOf(site)[0]).find((one) => one !== "");
    if (file !== undefined) return file;
  }
  return Object.keys(run.sources)[0];
}

/** Returns the lines of a file at which causes of the run are. */
function causesIn(run, file, lines) {
  const causes = Object.values(run.causes).flat().map((site) => lineOf(run, site));
  const numbers = new Set(causes.filter((line) => line?.file === file).map((line) => line.number));
  return [...numbers].map((number) => lines[number - 1]).filter((line) => line !== undefined);
}

function markCause(line) {
  line.classList.add("cause");
  line.querySelector(".at").before(element("span", { class: "sign", title: "the line of the cause" }, "◆"));
}

function linesOf(run, file, state, { sites }) {
  const text = run.sources[file];
  if (text === undefined) return [];
  return text.replace(/\n$/, "").split("\n").map((line, place) => {
    const number = String(place + 1);
    const stops = sites.get(`${file}:${number}`);
    const shown = stops
      ? element("button", { type: "button", class: "link", "aria-label": `line ${number}, next of ${stops.length} events`,
        click: () => state.go(stops.find((at) => at > state.at) ?? stops[0]) }, number)
      : number;
    return element("div", { class: "line" }, element("span", { class: "number" }, shown),
      element("span", { class: "signs" }, element("span", { class: "at" })),
      element("span", { class: "text" }, element("code", {}, piecesOf(line || " ")), element("span", { class: "whose" })));
  });
}

/** Returns a line as its indentation, after which no row ends, and its words; a long one may end a row after a sign. */
function piecesOf(line) {
  const words = line.trimStart();
  return [element("span", { class: "indent" }, line.slice(0, line.length - words.length)),
    ...words.split(/(?<=\s)(?=\S)/).flatMap((word) => (word.length < LONG ? [word] : broken(word)))];
}

function broken(word) {
  return word.split(/(?<=[.([{,=:/])(?=[\w"'])/).flatMap((part, place) => (place ? [element("wbr"), part] : [part]));
}

/** Marks the lines of an event. count: how many of its replicas have arrived. */
function mark(lines, file, event, sites, count) {
  const found = new Map();
  sites.forEach((site, place) => {
    if (place >= count) return;
    const [name, number] = placeOf(site);
    const line = lines[number - 1];
    if (name !== file || !line) return;
    const ranks = (event.replicas || []).filter((rank) => rank !== null).slice(0, count);
    const who = sites.length > 1 ? [ranks[place]] : ranks;
    found.set(line, [...(found.get(line) || []), ...who.filter((rank) => rank !== undefined)]);
  });
  for (const [line, ranks] of found) {
    line.classList.add("current");
    line.setAttribute("aria-current", "step");
    line.querySelector(".at").textContent = "▶";
    line.querySelector(".whose").textContent = whose(ranks);
  }
  return [...found.keys()];
}

/** Returns which replicas are at a line, to stand behind its text. */
function whose(ranks) {
  if (!ranks.length) return "";
  return ranks.length > 4 ? ` ${ranks.length} replicas` : ` replica${ranks.length > 1 ? "s" : ""} ${ranks.join(" ")}`;
}

function unmark(line) {
  line.classList.remove("current", "named");
  line.removeAttribute("aria-current");
  line.querySelector(".at").textContent = "";
  line.querySelector(".whose").textContent = "";
}
