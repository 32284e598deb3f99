"""The two versions: the Debian package of an earlier commit, and that of this build, unpacked."""
import os
import shutil
import subprocess
from pathlib import Path

KEPT = 4  # unpacked packages of earlier commits


class Refused(Exception):
    """A problem with its remedy, before the test has begun."""


def git(root, *arguments):
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"git {' '.join(arguments)}: {done.stderr.strip()}", "run the test in a clone")
    return done.stdout.strip()


def previous_commit(root):
    """The newest commit whose program differs from that of this working tree."""
    for commit in git(root, "log", "--format=%H", "--", "src", "sql").split():
        if subprocess.run(["git", "-C", root, "diff", "--quiet", commit, "--", "src", "sql"]).returncode == 1:
            return commit
    raise Refused("this clone has no earlier version of src and sql", "name a commit, or git fetch --unshallow")


def run_logged(log, command, **options):
    with open(log, "ab") as out:
        done = subprocess.run(list(map(str, command)), stdout=out, stderr=out, **options)
    if done.returncode != 0:
        raise Refused(f"{' '.join(map(str, command))} failed:\n" + "\n".join(
            log.read_text(errors="replace").splitlines()[-15:]), f"the whole output is in {log}")


def unpack_package(build, folder, log):
    """Makes the Debian package of a finished build and unpacks it to `folder`."""
    made = folder.parent / (folder.name + ".deb")
    shutil.rmtree(made, ignore_errors=True)
    run_logged(log, ["cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", made])
    (package,) = made.glob("inboxd_*.deb")
    run_logged(log, ["dpkg-deb", "-x", package, folder])
    shutil.rmtree(made)


def package_of(root, commit, work, say):
    """The unpacked package of `commit`, built once and kept in the cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("INBOXD_CACHE") or Path(base) / "inboxd") / "upgrade"
    folder = cache / commit
    if not folder.exists():
        say(f"building the package of {commit[:8]}")
        cache.mkdir(parents=True, exist_ok=True)
        source = work / "source"
        source.mkdir()
        archive = subprocess.Popen(["git", "-C", root, "archive", commit], stdout=subprocess.PIPE)
        run_logged(work / "build.log", ["tar", "-x", "-C", source], stdin=archive.stdout)
        build = ["cmake", "--build", "--preset", "release", "--target", "inboxd", "shipped_handlers"]
        for command in (["cmake", "--preset", "release", "-DINBOXD_TESTS=OFF"], build):
            run_logged(work / "build.log", command, cwd=source)
        made = cache / (commit + ".new")
        shutil.rmtree(made, ignore_errors=True)
        unpack_package(source / "build" / "release", made, work / "build.log")
        made.rename(folder)
        shutil.rmtree(source)
    os.utime(folder)
    for old in sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old)
    return folder
