// The order of what a search finds: guides and the reference stand before records and the changelog.
const LATER = ["docs/decisions/", "CHANGELOG", "docs/promises", "tests/"];

// Sphinx's own script declares it too.
var Scorer = {
  score: ([name, , , , score]) => (LATER.some((one) => name.startsWith(one)) ? score - 20 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
