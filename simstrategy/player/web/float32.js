// Sums in float32, to the bit: a sum of two is that in float64 rounded once more, which changes nothing at these widths.

/** Returns the additions of terms: left and right operand of each, a term's place or -1, -2 … for sums, and the sum. */
export function additions(terms, order, inPairs) {
  const made = [];
  const add = ([left, one], [right, other]) => {
    const sum = Math.fround(one + other);
    made.push([left, right, sum]);
    return [-made.length, sum];
  };
  let level = order.map((place) => [place, terms[place]]);
  if (!inPairs) {
    level.reduce(add);
    return made;
  }
  while (level.length > 1) {
    const pairs = [];
    for (let place = 0; place + 1 < level.length; place += 2) pairs.push(add(level[place], level[place + 1]));
    level = [...pairs, ...level.slice(2 * pairs.length)];
  }
  return made;
}

/** Returns a float32 divided by a number of replicas or rows. */
export function divided(value, count) {
  return Math.fround(value / Math.fround(count));
}

/** Returns the float32 of a text. */
export function float32Of(text) {
  const named = { inf: Infinity, "-inf": -Infinity, nan: NaN };
  return text in named ? named[text] : Math.fround(Number(text));
}

/** Returns a number with so many digits after the first; one that lies between two is rounded to the even one. */
function rounded(value, digits) {
  const text = value.toExponential(digits);
  const longer = value.toExponential(digits + 1);
  const end = text.indexOf("e");
  const isBetween = Number(longer) === value && longer[longer.indexOf("e") - 1] === "5";
  // A half is rounded up here: an odd digit is above 0.
  if (!isBetween || Number(text[end - 1]) % 2 === 0) return text;
  return `${text.slice(0, end - 1)}${Number(text[end - 1]) - 1}${text.slice(end)}`;
}

/** Returns the shortest text that has the bits of a float32, in the form of NumPy's. */
export function float32Text(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  let text = "";
  for (let digits = 0; digits < 9; digits += 1) {
    text = rounded(value, digits);
    if (Math.fround(Number(text)) === value) break;
  }
  const [, sign, first, rest = "", power] = text.match(/^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/);
  const exponent = Number(power);
  const figures = first + rest;
  if (Math.abs(value) < 1e-4 || exponent >= 6) {
    return `${sign}${first}${rest ? `.${rest}` : ""}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${figures}`;
  const whole = figures.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${figures.slice(exponent + 1) || "0"}`;
}
