// Begins here: unpacks the recording and joins the views.

import { captionView } from "./caption.js";
import { element } from "./dom.js";
import { listen } from "./keys.js";
import { partsView } from "./parts.js";
import { pointView } from "./point.js";
import { indexed, unpacked } from "./recording.js";
import { replicasView } from "./replicas.js";
import { search } from "./search.js";
import { sourceView } from "./source.js";
import { isPosition, makeState } from "./state.js";
import { meaningOf, terms } from "./terms.js";
import { timesView } from "./times.js";
import { actionsOf, toolbar } from "./toolbar.js";
import { variablesView } from "./variables.js";

const at = (id) => document.getElementById(id);

async function begin() {
  const data = await unpacked(at("recording").textContent);
  const indexes = data.runs.map(indexed);
  const views = [];
  const state = makeState(data, () => views.forEach((view) => view()), revealLine);
  const index = () => indexes[state.run];
  const actions = actionsOf(state);
  const field = search(at("search"), state);
  const dialog = at("help");
  actions.search = () => field.select() || field.focus();
  actions.help = () => dialog.showModal();
  actions.terms = () => showTerms(at("terms"));
  at("terms-button").addEventListener("click", actions.terms);
  at("help-button").addEventListener("click", actions.help);
  at("theme").addEventListener("click", changeTheme);
  views.push(
    toolbar(at("bar"), state, actions),
    captionView(at("caption"), at("more"), state),
    replicasView(at("replicas"), state),
    pointView(at("point"), at("point-title"), state),
    timesView(at("times"), state),
    partsView(at("parts"), state, index),
    variablesView(at("variables"), state),
    sourceView(at("source"), at("source-title"), state, index),
    factsView(at("facts"), state));
  listen(actions, dialog, inSight, (kind) => state.current().marks[kind].includes(state.at), reveal);
  const { hash } = location;
  state.follow();
  for (const link of document.querySelectorAll(".report a[href^='#']")) link.addEventListener("click", reveal);
  if (isPosition(hash)) reveal();
  else if (hash) at(hash.slice(1))?.scrollIntoView({ block: "center" });
  document.documentElement.dataset.ready = "true";
}

/** Returns whether the player fills the window: above it the keys scroll the page, but for jumps. */
function inSight() {
  return at("player").getBoundingClientRect().top < innerHeight / 2;
}

function reveal() {
  at("player").scrollIntoView();
}

/** Scrolls the page to the source, where the line that was asked for is not in sight. */
function revealLine() {
  const line = at("source").querySelector(".named")?.getBoundingClientRect();
  const top = Math.max(0, at("player").getBoundingClientRect().bottom);
  if (line && (line.top < top || line.bottom > innerHeight)) at("source").scrollIntoView({ block: "center" });
}

/** Shows the terms with their meanings; the list is made when it is first asked for. */
function showTerms(dialog) {
  const list = dialog.querySelector("dl");
  if (!list.childElementCount) list.append(...terms().map(([word, meaning]) => element("div", {}, element("dt", {}, word), element("dd", {}, meaning))));
  dialog.showModal();
  dialog.querySelector("h2").focus(); // the list begins in sight
}

function factsView(box, state) {
  return () => box.replaceChildren(...state.current().facts.map(([name, text]) =>
    element("span", {}, element("b", { title: meaningOf(name) }, name), ` ${text}`)));
}

function changeTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
}

begin().catch((error) => {
  at("caption").textContent = `This page cannot be shown: ${error}. Open it in a current browser, or make it again.`;
});
