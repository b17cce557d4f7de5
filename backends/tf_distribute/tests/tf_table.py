"""Checks all programs of corpus.toml and prints a line for each: what the check answered, and what is not right.

python backends/tf_distribute/tests/tf_table.py [NAME …]
"""

import logging
import re
import sys
import time
import warnings

from tf_corpus import TABLE, WRONG, program_of

from simstrategy_tf_distribute import replicas_agree


def wrong_answers(row, report):
    """Yields what is not right in the report of a program.  row: what is known of the program."""
    if "law" not in row:
        yield from [] if report.agrees else [f"the verdict is {report.verdict}"]
        return
    if report.verdict != "differ":
        yield f"the verdict is {report.verdict}"
        return
    finding = report.findings[0]
    for what, expected in (("law", row["law"]), ("kind", row.get("kind"))):
        if finding._asdict()[what] != expected:
            yield f"the {what} is not {expected}"
    if "variable" in row and finding.variable != row["variable"]:
        yield f"the variable is not {row['variable']}"
    if not re.search(row.get("text", ""), str(report)):
        yield f"the text lacks {row['text']!r}"


def main(arguments):
    warnings.simplefilter("ignore")
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    bad = total = 0
    for name, row in sorted(TABLE.items(), key=lambda item: (item[0] not in WRONG, item[0])):
        if arguments and name not in arguments:
            continue
        began = time.monotonic()
        report = replicas_agree(program_of(name), replicas=row.get("replicas", [1, 2]))
        seconds = time.monotonic() - began
        problems = list(wrong_answers(row, report))
        first = report.findings[0] if report.findings else None
        found = "" if first is None else f"{first.law}: {first.kind}, {first.site or '-'}, {first.variable or '-'}"
        print(
            f"{name:44} {seconds:5.1f} s {report.verdict:9} {found}", *[f"WRONG: {one}" for one in problems], flush=True
        )
        bad, total = bad + bool(problems), total + 1
    print(
        f"{total} programs, {len(WRONG)} of all wrong and {len(TABLE) - len(WRONG)} right; {bad} answers are not right"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
