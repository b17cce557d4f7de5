"""Measures how the cost of each style of calls grows with the number of what it is called for.

    python3 ci/run.py bench growth [--only TEXT] [--evidence FILE]

For each style it counts bytecodes and calls of C functions at three sizes, which no other load of the machine changes,
and takes processor time at three larger ones, where also the work inside of C functions shows. An exponent is the slope
of the line through the logarithms: 1 where twice as many cost twice as much. Above 1.2 it is a finding.

In threads the count is that of the thread that runs the others alone.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from evidence import Evidence, arguments

from ci.bench.growth.counting import counted, exponent, shortest_s
from ci.bench.growth.every_style import STYLES

MOST = 1.2
HEAD = f"{'style':47} {'unit':9} {'sizes':>14} {'steps a unit':>16}  exp. {'sizes':>14} {'µs a unit':>15}  exp."


def row_of(name, style):
    """Returns the line of a style in the table."""
    cells = [f"{name:47} {style.unit:9}"]
    worst = 0.0
    for sizes, measure, factor, text in (
        (style.sizes.counted, counted, 1, "{:.0f}"),
        (style.sizes.timed, shortest_s, 1e6, "{:.1f}"),
    ):
        costs = [measure(style.prepared(size)) for size in sizes]
        slope = exponent(sizes, [max(cost, 1e-9) for cost in costs])
        first, last = [text.format(costs[end] * factor / sizes[end]) for end in (0, -1)]
        cells.append(f"{f'{sizes[0]}-{sizes[-1]}':>14} {f'{first} → {last}':>{16 if factor == 1 else 15}} {slope:5.2f}")
        worst = max(worst, slope)
    return " ".join([*cells, *(["FINDING"] if worst > MOST else [])])


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="the styles whose name has this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of calls from two lines, on purpose
    evidence = Evidence()
    evidence.add(HEAD)
    found = 0
    for name, style in STYLES.items():
        if options.only in name:
            row = row_of(name, style)
            found += row.endswith("FINDING")
            evidence.add(row)
    evidence.add(f"{found} of them grow faster than the {MOST}th power of what they are called for.")
    evidence.write(options.evidence)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
