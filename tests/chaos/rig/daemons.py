"""Five instances of the daemon, each with a file of its own, and the operator's commands."""
import os
import signal
import subprocess
import time

from rig.loads import Variant, configuration
from rig.processes import Supervised

EXPECTED = {0, 69, 75}  # drained; database or brokers not reached; temporary failure
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


class Daemon(Supervised):
    def __init__(self, rig, host):
        super().__init__(rig, host.name, host, rig.work / f"{host.name}.log")
        self.file = rig.work / f"{host.name}.yaml"
        self.clock = rig.work / f"{host.name}.clock"

    def deploy(self, variant):
        self.file.write_text(configuration(self.rig, self.name, variant))

    def set_clock(self, offset):
        self.offset = offset
        self.clock.write_text(f"{offset:+d}\n")

    def reload(self):
        """Not in the first seconds of a process: a signal that it cannot catch yet would end it."""
        with self.lock:
            if time.monotonic() - self.started_at > 5:
                self.signal(signal.SIGHUP)

    def command(self):
        return [self.rig.inboxd, "--config", self.file, "run"]

    def environment(self):
        if not self.clock.exists():
            return None
        waits = self.rig.client.parent / "libchaos_waits.so"
        return {**os.environ, "LD_PRELOAD": f"{waits}:{FAKETIME}", "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def ended(self, status):
        if status in EXPECTED:
            self.rig.say(f"{self.name} ended with {status}, restarting")
        else:
            self.rig.crash(f"{self.name} ended with {status}")


class Daemons:
    def __init__(self, rig, hosts):
        self.rig = rig
        self.all = [Daemon(rig, host) for host in hosts]
        self.variant = Variant()
        self.all[-1].set_clock(0)  # its clock jumps
        for daemon in self.all:
            daemon.deploy(self.variant)

    def start(self):
        self.run("migrate", seconds=120)
        self.rig.postgres.ask(self.rig.schema)
        for daemon in self.all:
            daemon.start()

    def run(self, *arguments, seconds=60, accepted=(0, 1)):
        """An operator's command, on a host without faults, with the file of the last deploy. Returns its output."""
        file = self.rig.work / "operator.yaml"
        file.write_text(configuration(self.rig, "operator", self.variant))
        done = subprocess.run(
            self.rig.operator.enter(self.rig.inboxd, "--config", file, *arguments),
            capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        with open(self.rig.work / "operator.log", "a") as log:
            log.write(f"{time.strftime('%H:%M:%S')} {' '.join(map(str, arguments))}: {done.returncode}\n"
                      f"{done.stdout[-2000:]}{done.stderr[-2000:]}\n")
        if done.returncode not in accepted:
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.returncode}: "
                               f"{done.stdout.strip()[-600:]} {done.stderr.strip()[-300:]}")
        return done.stdout
