// Lines of the program that a text names, such as train.py:31: links that show them in the source.

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
