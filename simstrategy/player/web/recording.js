// The recording in this page: unpacked, and asked by position.

/** Returns the data of the page: base64 of gzip of JSON. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

export const BEGINS = 1;
export const ENDS = 2;

/** Returns what is at a stop: its event, phase and caption. */
export function stopAt(run, at) {
  const [event, phase, caption] = run.stops[at];
  return { event: run.events[event], phase, caption };
}

/** Returns the call sites of an event, one for each replica that is in it, or one for all. */
export function sitesOf(event) {
  if (event.sites) return event.sites;
  return event.site ? [event.site] : [];
}

/** Returns file and line of a call site such as train.py:31. */
export function placeOf(site) {
  const colon = site.lastIndexOf(":");
  return [site.slice(0, colon), Number(site.slice(colon + 1))];
}

/** Returns the ranks that arrive one by one at a stop, in their order; [] where that is not known, or one is alone. */
export function arrivalsAt(run, at) {
  const { event, phase } = stopAt(run, at);
  if (event.is !== "point" || event.kind === "run" || phase === ENDS || !run.has_arrivals) return [];
  const ranks = event.replicas.filter((rank) => rank !== null);
  return ranks.length > 1 ? ranks : [];
}

/** Returns whether a run drew a step of data. */
export function drawsData(run) {
  return run.events.some((event) => event.is === "parts");
}

/** Returns the ranks that an event is about: of the replicas in it, or of the whole worker. */
export function ranksOf(run, event) {
  if (event.requests) return run.columns[event.worker] || [];
  const own = event.replicas ? event.replicas.filter((rank) => rank !== null) : [];
  if (own.length) return own;
  if (typeof event.replica === "number") return [event.replica];
  return run.columns[event.worker] || [];
}

/** Returns the last place of a sorted list that is not after `at`; -1 for none. key: of an entry. */
export function lastUpTo(list, at, key) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(list[middle]) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns for each call site its stops, and for each worker the stops that draw a step of data. */
export function indexed(run) {
  const sites = new Map();
  const parts = run.columns.map(() => []);
  run.stops.forEach(([number], at) => {
    const event = run.events[number];
    for (const site of new Set(sitesOf(event))) {
      if (!sites.has(site)) sites.set(site, []);
      sites.get(site).push(at);
    }
    if (event.is === "parts" && parts[event.worker]) parts[event.worker].push(at);
  });
  return { sites, parts };
}

/** Returns the marks of a kind in all runs, each as its run and stop. */
export function marksAcross(state, kind) {
  return state.data.runs.flatMap((run, number) => run.marks[kind].map((at) => [number, at]));
}
