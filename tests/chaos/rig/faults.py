"""The faults, a method each. It draws the details, and returns the parts that it breaks, a text, and a function.

The function returns once the parts work again.
"""
import itertools
import os
import signal
import subprocess
import time

from rig.loads import Variant

NODES = {"daemon": ["daemon1", "daemon2", "daemon3", "daemon4", "daemon5"],
         "broker": ["broker1", "broker2", "broker3"], "postgres": ["postgres1", "postgres2"]}


class Faults:
    """KINDS maps the name that is printed to a method."""

    def __init__(self, rig, draw):
        self.rig = rig
        self.draw = draw

    # ---- daemons

    def kill_daemon(self):
        daemon = self.draw.choice(self.rig.daemons.all)
        return {daemon.name}, daemon.name, lambda: daemon.signal(signal.SIGKILL)

    def stop_daemon(self):
        daemon = self.draw.choice(self.rig.daemons.all)
        return self._stopped(daemon, {daemon.name}, self.draw.uniform(8, 14), "past its leases")

    def _stopped(self, process, holds, seconds, why):
        def run():
            process.signal(signal.SIGSTOP)
            self.rig.pause(seconds)
            process.signal(signal.SIGCONT)
        return holds, f"{process.name} for {seconds:.0f} s, {why}", run

    def clock(self):
        daemon, seconds = self.rig.daemons.all[-1], self.draw.choice([-3600, 60, 3600, 86400])
        return {"clock"}, f"{daemon.name} {seconds:+d} s", lambda: daemon.set_clock(daemon.offset + seconds)

    # ---- links

    def _link(self):
        """Two hosts that talk to each other, in a random direction."""
        kinds = self.draw.choice([("daemon", "broker"), ("daemon", "postgres"), ("daemon", "postgres"),
                                  ("broker", "broker"), ("postgres", "postgres")])
        while True:
            ends = [self.draw.choice(NODES[kind]) for kind in kinds]
            if ends[0] != ends[1]:
                self.draw.shuffle(ends)
                return ends

    def _bad_link(self, text, seconds, both, **rule):
        a, b = self._link()
        links = [(a, b), (b, a)] if both else [(a, b)]

        def run():
            for link in links:
                self.rig.network.set_rule(*link, **rule)
            self.rig.pause(seconds)
            for link in links:
                self.rig.network.set_rule(*link)
        return {"-".join(sorted((a, b)))}, f"{a} {'and' if both else 'to'} {b} for {seconds:.0f} s{text}", run

    def cut_one_way(self):
        return self._bad_link("", self.draw.uniform(8, 25), False, loss=1)

    def cut_both_ways(self):
        return self._bad_link("", self.draw.uniform(5, 20), True, loss=1)

    def lossy(self):
        loss = self.draw.choice([0.05, 0.1, 0.3])
        return self._bad_link(f", {loss:.0%} lost", self.draw.uniform(8, 20), self.draw.random() < 0.5, loss=loss)

    def delay(self):
        delay = self.draw.choice([0.05, 0.2, 0.8])
        return self._bad_link(f", {delay * 1000:.0f} ms", self.draw.uniform(8, 20), True, delay=delay)

    def bandwidth(self):
        rate = self.draw.choice([20_000, 100_000])
        return self._bad_link(f", {rate // 1000} kB/s", self.draw.uniform(8, 20), self.draw.random() < 0.5, rate=rate)

    # ---- the database

    def crash_primary(self):
        return {"postgres"}, "", lambda: self.rig.postgres.crash()

    def fail_over(self):
        return {"postgres"}, "to the synchronous standby", lambda: self.rig.postgres.fail_over()

    def fail_over_async(self):
        seconds = self.draw.uniform(3, 8)
        return ({"postgres"}, f"to a standby that is {seconds:.0f} s late",
                lambda: self.rig.postgres.fail_over_async(seconds))

    def restore(self):
        seconds = self.draw.uniform(4, 10)
        return {"postgres"}, f"of a base backup, {seconds:.0f} s old", lambda: self.rig.postgres.restore(seconds)

    def recover_to_time(self):
        seconds, lost = self.draw.uniform(5, 8), self.draw.uniform(3, 6)
        return ({"postgres"}, f"to a time {lost:.0f} s ago",
                lambda: self.rig.postgres.restore(seconds, lost))

    def full_data_disk(self):
        return self._full_disk("postgres", self.rig.postgres.all[0].data_disk, self.rig.postgres.all[1].data_disk)

    def full_wal_disk(self):
        return self._full_disk("postgres", self.rig.postgres.all[0].wal_disk, self.rig.postgres.all[1].wal_disk)

    def _full_disk(self, holds, *disks):
        disk, seconds = self.draw.choice(disks), self.draw.uniform(4, 10)

        def run():
            ballast = disk / "ballast"
            free = os.statvfs(disk)
            subprocess.run(["fallocate", "-l", str(free.f_bavail * free.f_frsize), ballast], capture_output=True)
            subprocess.run(["dd", "if=/dev/zero", f"of={disk}/rest", "bs=4k"], capture_output=True)  # written meanwhile
            self.rig.pause(seconds)
            for file in (ballast, disk / "rest"):
                file.unlink(missing_ok=True)
            if holds == "postgres":
                self.rig.postgres.wait_healthy()
            else:
                self.rig.brokers.wait_up()
        return {holds}, f"{disk.parent.name}/{disk.name} for {seconds:.0f} s", run

    # ---- brokers

    def kill_broker(self):
        broker = self.draw.choice(self.rig.brokers.all)

        def run():
            broker.signal(signal.SIGKILL)
            self.rig.brokers.wait_up()
        return {"kafka"}, broker.name, run

    def hang_broker(self):
        return self._stopped(self.draw.choice(self.rig.brokers.all), {"kafka"}, 40, "hanging")

    def full_broker_disk(self):
        return self._full_disk("kafka", *(broker.data for broker in self.rig.brokers.all))

    # ---- people

    def deploy(self):
        variant = Variant.draw(self.draw)
        order = self.draw.sample(self.rig.daemons.all, 5)
        ways = [self.draw.choice([signal.SIGHUP, signal.SIGTERM]) for _ in order]

        def run():
            self.rig.daemons.variant = variant
            for daemon, way in zip(order, ways):
                daemon.deploy(variant)
                if way == signal.SIGHUP:
                    daemon.reload()
                else:
                    daemon.signal(way)
                self.rig.pause(2)
        return {"deploy"}, str(variant), run

    def operate(self):
        return self.rig.operators.draw(self.draw)

    KINDS = {
        "SIGKILL": kill_daemon,
        # fault: process stopped (SIGSTOP) for minutes
        "SIGSTOP": stop_daemon,
        # fault: daemon's clock wrong by an hour
        "clock jump": clock,
        "cut one way": cut_one_way, "cut": cut_both_ways, "lossy link": lossy, "delay": delay, "bandwidth": bandwidth,
        "database crash": crash_primary, "failover": fail_over,
        # fault: database restored to an earlier state, or failed over asynchronously
        "async failover": fail_over_async,
        # fault: database restored to an earlier state, or failed over asynchronously
        "restore": restore,
        "PITR": recover_to_time,
        # fault: disk full
        "full data disk": full_data_disk,
        "full WAL disk": full_wal_disk, "broker SIGKILL": kill_broker,
        # fault: a broker hangs for 5, 15, 40 s
        "broker hangs": hang_broker,
        "full broker disk": full_broker_disk, "deploy": deploy, "operator": operate,
    }
    # How many of a kind a round has, if not one.
    PER_ROUND = {"SIGKILL": 2, "SIGSTOP": 2, "cut one way": 2, "deploy": 2, "operator": 6}

    def round(self, only):
        kinds = [name for name in self.KINDS if not only or name in only]
        bag = list(itertools.chain.from_iterable([name] * self.PER_ROUND.get(name, 1) for name in kinds))
        self.draw.shuffle(bag)
        return bag
