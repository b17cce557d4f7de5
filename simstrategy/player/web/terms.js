// The terms of the page with their meanings, which stand in a list and as titles where the page has them alone.

const TERMS = [
  ["replica", "One copy of the computation, on one device. Replicas have numbers from 0: their ranks."],
  ["worker", "One process that takes part in a program. The simulator can run several workers in one process.", "workers"],
  ["event", "One position of the page: a call, a write of a variable, a step of data, a printed text, or the end of the program. A call with others inside it has two: where it begins and where it ends."],
  ["synchronisation point", "A place where every replica waits for all others: a collective, a merge call, a write of an aggregated variable."],
  ["run", "The call strategy.run: every replica calls one function. In the choice of runs, the whole program with one setting."],
  ["all_reduce, reduce", "Calls that combine one value of each replica by an operation, such as SUM or MEAN. After all_reduce every replica has the result."],
  ["all_gather, gather", "Calls that put the values of all replicas behind each other, in the order of the ranks."],
  ["merge_call", "A call that all replicas make, and that runs one function once, with the values of all of them."],
  ["SUM, MEAN", "The values of the replicas are added; for MEAN the sum is divided by their number."],
  ["arrived", "The order in which the replicas made this call."],
  ["brought", "The arrays that a replica gave to the call."],
  ["got", "The arrays that a replica has from the call."],
  ["float32[2, 3]", "The form of a value: the type of its numbers and the size of each axis. float32[] is one number."],
  ["dtype", "The type of an array's numbers. float32 has about 7 decimal digits, so each addition is rounded.", "addition"],
  ["order", "How the simulator adds the values of replicas: linear, one after the other; ring or tree, as collectives of these shapes do."],
  ["part", "The rows of one step of data that one replica gets. Parts are unequal where the number of replicas does not divide the rows."],
  ["row", "One element of a batch of data, numbered within its epoch."],
  ["epoch", "One pass over a dataset, counted from 0."],
  ["component", "The value of one replica in a variable, before and after a write.", "before", "after"],
  ["aggregation", "How the values that replicas write to a variable become one: SUM, MEAN, ONLY_FIRST_REPLICA (that of replica 0), or NONE."],
  ["ON_WRITE, ON_READ", "When the components of a variable are combined: at each write, or when it is read outside replicas, until when each replica has its own."],
  ["trainable", "Of a variable: it is a parameter that training changes."],
  ["Variable_0", "The name of a variable that the program gives none. The view of the variables has the line that makes it."],
  ["cause", "What a failed check found to be wrong, or the error that ended the program."],
  ["first difference", "The first call that is another one than in the first run of the page, or the first result of all replicas that is further away than rounding explains. Where there is none, the first whose bits are others. What has another shape with another number of replicas comes last too."],
  ["less the other's", "The numbers of an array here, less those of the same array in the other run."],
  ["array", "One array of a call, by its place: a call may have several."],
  ["value not finite", "An infinite number, or NaN, which is the result of a calculation such as 0/0."],
  ["divergence", "The components of a variable have to be equal on all replicas, and are not when a run ends."],
  ["virtual time", "The time that the run would take by the costs that were declared; no clock is read."],
  ["backend", "What holds the arrays of the replicas and adds them up; sim is the simulator."],
  ["schedule", "What chooses the replica that takes its turn next; InOrder() takes them by their numbers."],
  ["seed", "The number from which the seeds of the replicas are made."],
  ["profile", "The version of TensorFlow whose behaviour the strategy has.", "semantics"],
  ["command", "What the program was run with."],
];

const MEANINGS = new Map(TERMS.flatMap(([word, meaning, ...others]) => [word, ...others].map((one) => [one, meaning])));
MEANINGS.set("replicas", "How many copies of the computation run.");

/** Returns the terms, each with its meaning. */
export function terms() {
  return TERMS.map(([word, meaning]) => [word, meaning]);
}

/** Returns the meaning of a text that is a term, for its title; null for another one. */
export function meaningOf(text) {
  return MEANINGS.get(text) ?? null;
}
