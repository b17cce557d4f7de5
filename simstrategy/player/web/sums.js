// The additions of a point, in their order, with every partial sum. All numbers are texts of the recording's page.

import { counted, element, table } from "./dom.js";
import { orderOf } from "./order.js";

/** Returns the additions of a point, or null where it adds nothing. */
export function sumsOf(event) {
  const found = event.additions;
  if (!found) return null;
  if (found.left) return part(element("p", {}, found.left));
  const groups = new Map();
  for (const one of found.sums) {
    const shape = JSON.stringify([one.steps.map(([left, right]) => [left, right]), one.divided_by]);
    if (!groups.has(shape)) groups.set(shape, []);
    groups.get(shape).push(one);
  }
  const own = found.own ? "Each replica's own array was summed along the axis before: these sums are added here." : null;
  return part(
    element("p", {}, `Order of additions: ${found.order}. Every partial sum is rounded to the dtype.`),
    own ? element("p", {}, own) : null,
    [...groups.values()].map((sums) => tableOf(sums, found.ranks || [])),
    found.movable ? orderOf(found.sums, found.ranks || []) : null);
}

function part(...children) {
  return element("div", { class: "sums" }, element("h3", {}, "Additions in their order"), ...children);
}

/** Returns the table of elements that are added in the same way: a line for each addition. ranks: of the terms. */
function tableOf(sums, ranks) {
  const [first] = sums;
  const rows = first.steps.map(([left, right], place) => [
    `${place + 1}: ${nameOf(left, ranks)} + ${nameOf(right, ranks)}`,
    ...sums.map((one) => `${textOf(one, left)} + ${textOf(one, right)} = ${one.steps[place][2]}`),
  ]);
  if (first.divided_by !== null) {
    rows.push([`divided by ${first.divided_by}`, ...sums.map((one) => `= ${one.total}`)]);
  }
  return table(`Additions of ${counted(sums.length, "element")}`, ["addition", ...sums.map(headingOf)], rows);
}

function headingOf(one) {
  return one.leaf ? `array ${one.leaf}, element ${one.element}` : `element ${one.element}`;
}

function nameOf(operand, ranks) {
  return operand < 0 ? `sum ${-operand}` : `replica ${ranks[operand] ?? operand}`;
}

function textOf(one, operand) {
  return operand < 0 ? one.steps[-operand - 1][2] : one.terms[operand];
}
