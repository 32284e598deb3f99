"""Runs a Go source file with modules, for the scripts that write fixtures with other systems' libraries.

Needs Go 1.24. No test needs it: the scripts' output is committed.
"""
import pathlib
import shutil
import subprocess
import tempfile


def run_go(source, modules):
    """The output of a source file. `modules`: PATH@VERSION."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(source, pathlib.Path(folder) / "main.go")
        subprocess.run(["go", "mod", "init", "fixtures"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["go", "get", *modules], cwd=folder, check=True)
        return subprocess.run(["go", "run", "."], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
