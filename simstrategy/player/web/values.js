// How values are shown: as the texts that came with the recording.

import { counted, element } from "./dom.js";

/** Returns a value as an element: dtype and shape, then its elements. */
export function valueOf(run, number) {
  const value = run.values[number];
  const form = `${value.dtype}[${value.shape.join(",")}]`;
  const parts = [element("span", { class: "form" }, form), " ", ...elementsOf(value)];
  if (value.known && value.more) parts.push(element("span", { class: "form" }, ` … of ${sizeOf(value)}${rangeOf(value)}`));
  if (value.not_finite) parts.push(" ", element("strong", { class: "bad" }, notFinite(value)));
  return element("span", { class: "value" }, parts);
}

/** Returns the values of one replica, one below the other. */
export function rowOf(run, row) {
  if (!row || !row.length) return element("span", { class: "none" }, "no array");
  return element("div", { class: "leaves" }, row.map((number) => element("div", {}, valueOf(run, number))));
}

/** Returns a value as one short text. */
export function shortText(run, number) {
  const value = run.values[number];
  if (!value.known) return "not known";
  const shown = value.texts.slice(0, 3).join(" ");
  return value.more || value.texts.length > 3 ? `${shown} …` : shown;
}

function elementsOf(value) {
  if (!value.known) return [element("span", { class: "none" }, "no value was recorded")];
  if (!value.texts.length) return [element("span", { class: "none" }, "no element")];
  return [element("span", { class: "elements" }, value.texts.join(" "))];
}

function sizeOf(value) {
  return counted(value.shape.reduce((size, one) => size * one, 1), "element");
}

function rangeOf(value) {
  return value.range ? `, ${value.range[0]} to ${value.range[1]}` : "";
}

function notFinite(value) {
  const first = value.not_finite_at === undefined ? "" : `, the first is element ${value.not_finite_at}`;
  return `${value.not_finite} not finite${first}`;
}
