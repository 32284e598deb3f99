#!/usr/bin/env python3
"""Counts and failures of a run of tests/run: summary.py RESULTS "TIERS WHERE CTEST FAILED" TIER...

Reads ctest's RESULTS/*.xml. Counts test cases by Catch2's summary, or the test itself if it prints none. Names each
failed test case with its first failed assertion. The last line is `N passed, N failed`; the exit status is 0 only if a
test ran and all passed.
"""
import glob
import re
import sys
import xml.etree.ElementTree as xml

MAX_FAILURE_LINES = 20
# Catch2's heading of a failure: the title of the case, its sections (indented), the place.
HEADING = re.compile(r"^-{79}\n((?:.+\n)+?)-{79}\n.+\n\.{79}\n", re.M)
ASSERTION = re.compile(r"^(?:\.\./)*(\S+:\d+): FAILED:\n((?:.+\n)*)", re.M)
# A finding of a sanitizer, a compiler or a check.
FINDING = re.compile(r"^(?:SUMMARY: .*|\S+:\d+:.*)$", re.M)


def output_of(test: xml.Element) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", test.findtext("system-out") or "")


def cases(test: xml.Element) -> tuple[int, int, int]:
    """Passed, failed and skipped test cases."""
    passed, failed, skipped = 0, 0, 0
    lines = re.findall(r"^(test cases:.*|All tests passed \(.*\).*)$", output_of(test), re.M)
    if lines and lines[-1].startswith("All"):
        passed = int(re.search(r"in (\d+) test case", lines[-1]).group(1))
    elif lines:
        found = re.findall(r"(\d+) (passed|failed as expected|failed|skipped)", lines[-1])
        found = {what: int(number) for number, what in found}
        passed = found.get("passed", 0) + found.get("failed as expected", 0)
        failed, skipped = found.get("failed", 0), found.get("skipped", 0)
    elif test.get("status") == "run":
        passed = 1
    if test.get("status") != "run" and failed == 0:
        failed = 1  # it crashed, hung or was not built
    return passed, failed, skipped


def assertion_in(text: str) -> str | None:
    """Place and expression of the first failed assertion, with the message of an exception."""
    found = ASSERTION.search(text)
    if found is None:
        return None
    lines = [line.strip() for line in found.group(2).splitlines()] or [""]
    return f"{found.group(1)}: {' '.join(lines[:1] if lines[0].endswith(')') else lines[:2])}"


def failures_of(test: xml.Element) -> list[str]:
    """Two lines for each failed case; for a program that names none, its first finding or its last line."""
    text = output_of(test).strip()
    failures: dict[str, str] = {}
    parts = HEADING.split(text)[1:]
    for heading, body in zip(parts[::2], parts[1::2]):
        title = " ".join(line for line in heading.splitlines() if not line.startswith(" "))
        assertion = assertion_in(body)
        if assertion is not None:
            failures.setdefault(title, assertion)
    if not failures:
        found = FINDING.search(text)
        failures["no failed assertion"] = found.group() if found else text.split("\n")[-1] or "no output"
    return [line for title, assertion in failures.items()
            for line in (f"{test.get('name')}: {title}", f"    {assertion[:200]}")]


def main() -> int:
    results, ended_badly, tiers = sys.argv[1], sys.argv[2].split(), sys.argv[3:]
    tests = [test for path in glob.glob(results + "/*.xml") for test in xml.parse(path).getroot().findall("testcase")]
    total = [0, 0, 0]
    failures: list[str] = []
    for tier in tiers:
        of_tier = [test for test in tests if (test.get("name") + "_").startswith(tier + "_")]
        counts = [sum(column) for column in zip(*map(cases, of_tier))] or [0, 0, 0]
        seconds = sum(float(test.get("time") or 0) for test in of_tier)
        print(f"{tier}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped, {seconds:.0f} s" if any(counts)
              else f"{tier}: no tests")
        failures += [line for test in of_tier if cases(test)[1] > 0 for line in failures_of(test)]
        total = [a + b for a, b in zip(total, counts)]
    if failures:
        print("\n".join(["failed:", *failures[:MAX_FAILURE_LINES]]))
    if len(failures) > MAX_FAILURE_LINES:
        print(f"and {(len(failures) - MAX_FAILURE_LINES) // 2} more")
    if ended_badly and total[1] == 0:
        total[1] = 1  # ctest itself failed
        print(f"ctest failed with: {' '.join(ended_badly)}")
    if total[1] > 0:
        print(f"details: {results}")
    elif total[0] == 0:
        print("nothing ran: no test of this build has the label of a tier asked for")
    print(f"{total[0]} passed, {total[1]} failed")
    return 0 if total[0] > 0 and total[1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
