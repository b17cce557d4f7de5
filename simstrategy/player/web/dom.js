// Elements of the page. Texts become text nodes and never markup; sizes are set by properties, which the page's policy allows.

import { meaningOf } from "./terms.js";

/** Returns an element. attributes: by name; a function is a listener, true an empty attribute, null and false none. */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  assign(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Returns an element of a drawing. */
export function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(made, attributes);
  made.append(...children);
  return made;
}

/** So many rows of a table are made at once; more come when the browser has nothing else to do. */
const AT_ONCE = 18;

/** Returns a table with a caption for readers of the screen. headings: texts. rows: lists of cells. */
export function table(caption, headings, rows) {
  const head = headings.map((text) => element("th", { scope: "col", title: meaningOf(text) }, text));
  const rowOf = (cells) => element("tr", {}, cells.map((cell, place) =>
    place ? element("td", { "data-heading": headings[place] }, cell) : element("th", { scope: "row" }, cell)));
  const isLong = rows.length > AT_ONCE;
  const body = element("tbody", { "aria-busy": isLong ? "true" : null }, rows.slice(0, AT_ONCE).map(rowOf));
  if (isLong) requestIdleCallback(() => {
    if (!body.isConnected) return;
    body.append(...rows.slice(AT_ONCE).map(rowOf));
    body.removeAttribute("aria-busy");
  });
  const made = element("table", {}, element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, head)), body);
  return element("div", { class: "wide", tabindex: "0", role: "group", "aria-label": caption }, made);
}

/** Returns a number with its noun. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function assign(made, attributes) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
}
