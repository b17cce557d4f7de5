"""Checks all scripts of scripts/judged/ and scripts/keras/ and prints a line for each: what the check answered.

python backends/torch_distributed/tests/scripts_table.py [NAME …]
"""

import sys

from judged_scripts import accusations, faults, judged, name_of, report_of


def main(names):
    bad = total = 0
    wrong = [(script, faults) for script in judged(wrong=True)]
    lawful = [(script, accusations) for script in judged(wrong=False)]
    for script, examine in [*wrong, *lawful]:
        if names and name_of(script) not in names:
            continue
        report = report_of(script)
        problems = examine(script, report)
        first = next(iter(report.findings), None)
        found = f"{first.law}: {first.kind}, step {first.step}, {first.site}, {first.variable}" if first else ""
        print(
            f"{name_of(script):36} {report.verdict:9} {found}".rstrip(),
            *[f"NOT RIGHT: {one}" for one in problems],
            flush=True,
        )
        bad, total = bad + bool(problems), total + 1
    print(f"{total} scripts, {bad} with an answer that is not right")
    return int(bad > 0 or not total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
