"""The options of a run."""
import argparse
import random
import textwrap
from pathlib import Path

from .faults import Faults

ROOT = Path(__file__).resolve().parents[3]
NEEDS = ("Needs root, /dev/net/tun and a build: cmake --preset release && "
         "cmake --build --preset release --target inboxd chaos_client")
STATUS = ("exit status: 0 nothing lost, doubled or out of order; 1 something was, an event stays pending, a daemon "
          "crashed, no fault happened, or a fault or a part of the rig failed; 2 wrong option; 69 something that it "
          "needs is missing; 70 the rig could not start")


def options(purpose, arguments):
    """What a run was asked for; the same for the tests of the rig, so that they know each option."""
    after = "\n\n".join(textwrap.fill(text, 100) for text in ("kinds of faults: " + ", ".join(Faults.KINDS), STATUS))
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, epilog=after,
                                     description=f"{purpose.splitlines()[0]}\n\n{NEEDS}")
    parser.add_argument("--minutes", type=float, default=5, help="how long faults and load last (default 5)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000),
                        help="draws faults and records (default: a new one, printed)")
    parser.add_argument("--rate", type=float, default=60, help="records per second (default 60)")
    parser.add_argument("--patience", type=float, default=90,
                        help="seconds without progress at the end that count as stuck (default 90)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="folder of the build")
    parser.add_argument("--keep", action="store_true", help="keep the logs of a good run, too")
    parser.add_argument("--only", default="", metavar="KINDS",
                        help="only these kinds of faults (listed below), separated by commas")
    parser.add_argument("--databases", type=int, choices=(1, 2), default=1,
                        help="2: the database is the first of two that share the topics (default 1)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    chosen.only = [name.strip() for name in chosen.only.split(",") if name.strip()]
    if unknown := [name for name in chosen.only if name not in Faults.KINDS]:
        parser.error(f"--only: unknown: {', '.join(unknown)}; the kinds of faults are {', '.join(Faults.KINDS)}")
    return chosen
