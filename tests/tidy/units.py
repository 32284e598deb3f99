#!/usr/bin/env python3
"""Checks the units of systemd: units.py CHECK ROOT, CHECK being security, verify or template. Prints each mistake."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXPOSURE_LIMIT = 1.5
UNITS = {"inboxd.service": "inboxd.service", "inboxd@.service": "inboxd@billing.service"}


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", "--no-pager", *map(str, arguments)], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout + done.stderr


def placed(root, folder, with_jit):
    """The units as a machine has them, each with its drop-in; an inboxd that can be executed stands in for ours."""
    for name, instance in UNITS.items():
        text = (root / "config/systemd" / name).read_text()
        (folder / name).write_text(text.replace("=/usr/bin/inboxd ", "=/bin/true "))
        if with_jit:
            (folder / f"{name}.d").mkdir()
            shutil.copy(root / "config/systemd/jit.conf", folder / f"{name}.d")
        if instance != name:
            (folder / instance).symlink_to(name)
        yield folder / instance


def security(root):
    with tempfile.TemporaryDirectory() as folder:
        for unit in placed(root, pathlib.Path(folder), with_jit=False):
            _, text = analyze("security", "--offline=true", unit)
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", text)
            print(found.group() if found else text)
            if found is None or float(found.group(1)) > EXPOSURE_LIMIT:
                yield f"{unit.name}: exposed by more than {EXPOSURE_LIMIT}:\n{text}"


def verify(root):
    for with_jit in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            for unit in placed(root, pathlib.Path(folder), with_jit):
                status, text = analyze("verify", "--man=no", unit)
                if status != 0 or text.strip():
                    yield f"{unit.name}{' with jit.conf' if with_jit else ''}: {text}"


def settings(path):
    lines = path.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def template(root):
    """The two units are the same but for names; so both are hardened alike."""
    folder = root / "config/systemd"
    one = settings(folder / "inboxd.service")
    wanted = []
    for line in one:
        line = line.replace("/etc/inboxd/inboxd.yaml", "/etc/inboxd/%i.yaml")
        line = line.replace(":inboxd.", ":inboxd-%i.")
        line = re.sub(r"^(Description=.*)$", r"\1, %i", line)
        line = re.sub(r"^(StateDirectory|RuntimeDirectory)=inboxd$", r"\1=inboxd-%i", line)
        if line == "EnvironmentFile=-/etc/default/inboxd":
            wanted.append("Environment=INBOXD_CONFIG=/etc/inboxd/%i.yaml")
            line += "-%i"
        wanted.append(line)
    many = settings(folder / "inboxd@.service")
    for line in wanted:
        if line not in many:
            yield f"inboxd@.service: misses: {line}"
    for line in many:
        if line not in wanted:
            yield f"inboxd@.service: only here: {line}"


CHECKS = {"security": security, "verify": verify, "template": template}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in CHECKS:
        print(__doc__, file=sys.stderr)
        return 64
    if shutil.which("systemd-analyze") is None:
        print("systemd-analyze is not installed: run config/setup/install")
        return 1
    complaints = list(CHECKS[arguments[0]](pathlib.Path(arguments[1])))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
