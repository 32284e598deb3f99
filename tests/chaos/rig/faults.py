"""The faults. Each holds what it breaks (a daemon, the database, the brokers, a link) until that works again."""
import random
import signal
import threading
import time
from collections import Counter


class Fault:
    def __init__(self, name, holds, run):
        self.name = name
        self.holds = holds
        self.run = run


def faults_of(rig):
    daemons = rig.daemons.all

    def one_daemon(draw):
        return draw.choice(daemons)

    def kill(draw):
        daemon = one_daemon(draw)
        return daemon.name, lambda: daemon.signal(signal.SIGKILL)

    def stop(draw):
        daemon, seconds = one_daemon(draw), draw.uniform(8, 14)

        def run():
            daemon.signal(signal.SIGSTOP)
            rig.pause(seconds)
            daemon.signal(signal.SIGCONT)
        return f"{daemon.name} for {seconds:.0f} s, past its leases", run

    return [Fault("SIGKILL", "daemon", kill), Fault("SIGSTOP", "daemon", stop)]


class Chaos(threading.Thread):
    """Draws faults until it is stopped: each kind once in random order, then all again."""

    def __init__(self, rig):
        super().__init__(daemon=True)
        self.rig = rig
        self.random = random.Random(rig.seed)
        self.stopping = threading.Event()
        self.counts = Counter()
        self.busy = {}
        self.failures = []

    def run(self):
        bag = []
        while not self.stopping.wait(self.random.uniform(2, 5)):
            bag = bag or self.random.sample(faults_of(self.rig), len(faults_of(self.rig)))
            fault = bag.pop()
            while self.is_busy(fault.holds) and not self.stopping.wait(0.2):
                pass
            if self.stopping.is_set():
                break
            text, run = fault.run(self.random)
            self.rig.say(f"fault: {fault.name} {text}")
            self.counts[fault.name] += 1
            thread = threading.Thread(target=self.guarded, args=(fault, run), daemon=True)
            self.busy[fault.holds] = thread
            thread.start()

    def is_busy(self, holds):
        thread = self.busy.get(holds)
        return thread is not None and thread.is_alive()

    def guarded(self, fault, run):
        try:
            run()
        except Exception as error:
            self.failures.append(f"{fault.name}: {error!r}")
            self.rig.say(f"fault {fault.name} could not be finished: {error!r}")

    def finish(self):
        self.stopping.set()
        self.join()
        for thread in list(self.busy.values()):
            thread.join(180)
