// What a text names: lines of the program, such as train.py:31, and kinds of causes; links that lead to them.

import { element } from "./dom.js";

const NAMED = /([\w./-]+\.py):(\d+)/g;

/** Returns the file and the line of the run that a call site names; null where the page has no text of that file. */
export function lineOf(run, site) {
  const colon = site.lastIndexOf(":");
  const name = site.slice(0, colon);
  const file = Object.keys(run.sources).find((one) => one === name || one.endsWith(`/${name}`));
  return file === undefined ? null : { file, number: Number(site.slice(colon + 1)) };
}

/** Returns a text as nodes, in which each line of the program is a button. show: takes what `lineOf` returns. */
export function linked(text, run, show) {
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(NAMED)) {
    const line = lineOf(run, found[0]);
    if (!line) continue;
    nodes.push(text.slice(end, found.index),
      element("button", { type: "button", class: "link", title: "show this line in the source", click: () => show(line) }, found[0]));
    end = found.index + found[0].length;
  }
  return [...nodes, text.slice(end)];
}

/** Returns where a variable is made, as nodes; with the text of that line where no text of the program has its name. */
export function madeAt(run, one, show) {
  if (!one.made) return [];
  const line = lineOf(run, one.made);
  const text = line && run.sources[line.file].split("\n")[line.number - 1]?.trim();
  const isNamed = Object.values(run.sources).some((source) => source.includes(one.name));
  return ["is made at ", ...linked(one.made, run, show), ...(text && !isNamed ? [": ", element("code", {}, text)] : [])];
}

/** Returns nodes in which each kind of a cause is a link to its meaning in the report. */
export function withKinds(nodes) {
  const kinds = [...document.querySelectorAll("dt[id^='kind-']")].sort((a, b) => b.textContent.length - a.textContent.length);
  return nodes.flatMap((node) => (typeof node === "string" ? node.split(KINDS).flatMap((part, place) => (place % 2 ? kindsIn(part, kinds) : [part])) : [node]));
}

const KINDS = /(?<=The kind is )([^:.]+)/;

function kindsIn(text, kinds) {
  return text.split(/(, or )/).map((part) => {
    const kind = kinds.find((one) => one.textContent === part);
    return kind ? element("a", { class: "term", href: `#${kind.id}`, title: kind.nextElementSibling.textContent }, part) : part;
  });
}
