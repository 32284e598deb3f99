#!/usr/bin/env python3
"""Members that threads share are used under their mutex only, as clang checks: threads.py ROOT BUILD

Reads the sources that lock a mutex, and those of classes with GUARDED_BY, with clang's -Wthread-safety. Prints each
finding; the exit status is 1 if there are any.
"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

CLANG = shutil.which("clang++-16") or shutil.which("clang++")


def is_concerned(source: pathlib.Path) -> bool:
    """Whether it or the header of its class locks; `poller_partitions.cpp` belongs to `poller.hpp`."""
    headers = [header for header in source.parent.glob("*.hpp") if source.stem.startswith(header.stem)]
    text = "".join(file.read_text() for file in [source, *headers])
    return re.search(r"\b(GUARDED_BY\(|(Lock|WriterLock|ReaderLock) lock)", text) is not None


def flags_of(build: pathlib.Path) -> list[str]:
    """Folders of headers, and definitions, of all targets below src."""
    found: dict[str, None] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if "/src/" not in entry["command"]:
            continue
        words = shlex.split(entry["command"])
        for word, following in zip(words, words[1:] + [""]):
            if word == "-isystem":
                found["-isystem" + following] = None
            elif word.startswith(("-I", "-DINBOXD", "-DSPDLOG", "-DFMT")):
                found[word] = None
    return list(found)


def findings_in(source: pathlib.Path, flags: list[str]) -> str:
    checks = ["-Wno-everything", "-Wthread-safety", "-Werror"]
    command = [CLANG, "-std=c++20", "-fsyntax-only", *checks, *flags, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 else ""


def main() -> int:
    root, build = map(pathlib.Path, sys.argv[1:3])
    if CLANG is None:
        print("clang++ is missing: run config/setup/install --packaging")
        return 1
    sources = [source for source in sorted((root / "src").rglob("*.cpp")) if is_concerned(source)]
    flags = flags_of(build)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        findings = [text for text in pool.map(lambda source: findings_in(source, flags), sources) if text]
    print("\n".join(findings))
    print(f"{len(sources)} sources read, {len(findings)} with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
