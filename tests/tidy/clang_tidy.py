#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy, on the rooms with the most threads and states: clang_tidy.py ROOT BUILD

Reads the sources as the build compiles them, several of a room together. Prints each finding once; the exit status is 1
if there are any.
"""
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

CLANG_TIDY = shutil.which("clang-tidy-16") or shutil.which("clang-tidy")
ROOMS = ["claimer", "consumer", "queue", "relay", "settler", "transaction", "workers"]


def findings_in(source: str, build: pathlib.Path) -> set[str]:
    command = [CLANG_TIDY, "-quiet", "-p", str(build), source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = set(re.findall(r"^\S+:\d+:\d+: error: .*", done.stdout, re.M))
    return found or ({done.stdout + done.stderr} if done.returncode != 0 else set())


def main() -> int:
    root, build = map(pathlib.Path, sys.argv[1:3])
    if CLANG_TIDY is None:
        print("clang-tidy is missing: run config/setup/install --packaging")
        return 1
    entries = json.loads((build / "compile_commands.json").read_text())
    sources = [entry["file"] for entry in entries
               if re.search(rf"/src/({'|'.join(ROOMS)})/", entry["file"].removeprefix(str(root)))]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        findings = sorted(set().union(*pool.map(lambda source: findings_in(source, build), sources)))
    print("\n".join(findings))
    print(f"{len(sources)} sources read, {len(findings)} findings")
    return 1 if findings or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
