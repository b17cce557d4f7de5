// Another order of one sum: its terms are dragged, or moved by buttons, and added again in float32.

import { counted, element } from "./dom.js";
import { additions, divided, float32Of, float32Text } from "./float32.js";

/** Returns what tries other orders of sums. sums: of one point, all of float32. ranks: of their terms, where not from 0. */
export function orderOf(sums, ranks) {
  const box = element("details", { class: "order" }, element("summary", {}, "Try another order of these additions"));
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(...trial(sums, ranks));
  });
  return box;
}

function trial(sums, ranks) {
  const list = element("ol", { "aria-label": "Order of the terms" });
  const result = element("div", { role: "status" });
  const picker = element("select", { "aria-label": "Element", input: () => begin() },
    sums.map((one) => element("option", {}, one.leaf ? `array ${one.leaf}, element ${one.element}` : `element ${one.element}`)));
  const shape = element("select", { "aria-label": "How they are added", input: () => draw() },
    element("option", {}, "one after the other"), element("option", {}, "in pairs, as a tree"));
  let order = [];
  const move = (from, to, key) => {
    if (to < 0 || to >= order.length || from === to) return;
    order.splice(to, 0, ...order.splice(from, 1));
    draw();
    if (key) list.children[to].querySelector(`.${key}:not(:disabled), button`)?.focus();
  };
  const draw = () => {
    const one = sums[picker.selectedIndex];
    list.replaceChildren(...order.map((term, place) => termOf(one, term, ranks[term] ?? term, place, order.length, move)));
    result.replaceChildren(...resultOf(one, order, shape.selectedIndex === 1));
  };
  const begin = () => {
    order = sums[picker.selectedIndex].terms.map((_, rank) => rank);
    draw();
  };
  begin();
  return [element("p", {}, "Drag a term, or move it by its buttons. The sums are made in this page, in float32."),
    element("div", { class: "group" }, sums.length > 1 ? picker : null, shape,
      element("button", { type: "button", click: () => begin() }, "order of ranks")), list, result];
}

function termOf(one, term, rank, place, count, move) {
  const button = (name, text, to) => element("button", { type: "button", class: name, disabled: to < 0 || to >= count,
    "aria-label": `replica ${rank} ${text}`, click: () => move(place, to, name) }, name === "up" ? "↑" : "↓");
  return element("li", {
    draggable: "true",
    dragstart: (event) => event.dataTransfer.setData("text/plain", String(place)),
    dragover: (event) => event.preventDefault(),
    drop: (event) => {
      event.preventDefault();
      move(Number.parseInt(event.dataTransfer.getData("text/plain"), 10), place);
    },
  }, button("up", "earlier", place - 1), button("down", "later", place + 1), ` replica ${rank}: `,
  element("span", { class: "value" }, one.terms[term]));
}

function resultOf(one, order, inPairs) {
  const terms = one.terms.map(float32Of);
  const made = additions(terms, order, inPairs);
  const sum = made.length ? made[made.length - 1][2] : terms[0];
  const total = one.divided_by === null ? sum : divided(sum, one.divided_by);
  const text = (operand) => float32Text(operand < 0 ? made[-operand - 1][2] : terms[operand]);
  const lines = made.map(([left, right, value]) => element("li", {}, `${text(left)} + ${text(right)} = ${float32Text(value)}`));
  const same = Object.is(total, float32Of(one.total));
  return [
    element("p", {}, element("strong", { class: same ? "" : "bad" }, `${float32Text(total)}: ${same ? "the recorded bits" : `other bits than the recorded ${one.total}`}`),
      ` by ${counted(made.length, "addition")}${one.divided_by === null ? "" : ` and a division by ${one.divided_by}`}.`),
    element("ol", { class: "value", "aria-label": "Additions" }, lines)];
}
