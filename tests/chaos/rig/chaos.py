"""Draws faults from the seed, several at a time if they hold different parts."""
import random
import threading
from collections import Counter

from rig.faults import Faults


class Chaos(threading.Thread):
    """Each kind of fault once or more in random order, then all again, until it is stopped."""

    def __init__(self, rig, only):
        super().__init__(name="chaos", daemon=True)
        self.rig = rig
        self.only = only
        self.random = random.Random(rig.seed)
        self.faults = Faults(rig, self.random)
        self.stopping = threading.Event()
        self.counts = Counter()
        self.held = {}
        self.failures = []

    def run(self):
        bag = []
        while not self.stopping.wait(self.random.uniform(1, 4)):
            bag = bag or self.faults.round(self.only)
            name = bag.pop()
            holds, text, run = Faults.KINDS[name](self.faults)
            if not self.wait_free(holds):
                break
            self.rig.say(f"fault: {name} {text}")
            self.counts[name] += 1
            thread = threading.Thread(target=self.guarded, args=(name, run), daemon=True)
            self.held.update({part: thread for part in holds})
            thread.start()

    def wait_free(self, holds):
        while any(part in self.held and self.held[part].is_alive() for part in holds):
            if self.stopping.wait(0.2):
                return False
        return not self.stopping.is_set()

    def guarded(self, name, run):
        try:
            run()
        except Exception as error:
            self.failures.append(f"{name}: {error!r}")
            self.rig.say(f"fault {name} could not be finished: {error!r}")

    def finish(self):
        """Waits for the end of the running faults."""
        self.stopping.set()
        self.join()
        for thread in set(self.held.values()):
            thread.join(240)
