"""The servers, the traffic and the instances; stands in for the rig of tests/chaos, whose loads and ledger it uses."""
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from rig import loads
from rig.ledger import Ledger
from rig.network import must
from rig.operators import Operators
from steps.instances import BOUND, Instance, lines_of

CHAOS = Path(loads.__file__).resolve().parent
RATE = 60  # records per second


class Here:
    """The only host."""

    def enter(self, *command):
        return list(map(str, command))


class Version:
    def __init__(self, name, folder):
        self.name = name
        self.inboxd = folder / "usr/bin/inboxd"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Postgres:
    def __init__(self, url):
        self.url = url

    def ask(self, statement, seconds=30):
        return must("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", self.url, "-c", statement, timeout=seconds).strip()


class Brokers:
    def __init__(self, client, bootstrap):
        self.client = client
        self.bootstrap = bootstrap

    def run(self, command, *arguments):
        return must(self.client, command, self.bootstrap, *arguments, timeout=240)

    def records(self, topic):
        return [line.split("\t", 4) for line in self.run("read", topic).splitlines()]


class Stage:
    def __init__(self, root, build, work, seed, old, new):
        self.root, self.work, self.seed, self.rate = root, work, seed, RATE
        self.old, self.new = old, new
        self.client = build / "tests" / "chaos" / "chaos_client"
        self.began = time.monotonic()
        self.variant = loads.Variant()
        self.deeds = Counter()
        self.logs = []
        self.seen, self.examples = Counter(), {}
        self.lost_lists = []
        self.databases = 1
        self.defects = []
        self.last_progress = 0.0
        self.stopping = threading.Event()
        self.application_host = Here()
        self.operators = Operators(self)
        self.daemons = self  # of which the ledger and the operators use run()
        self.current = itertools.cycle([old])  # the programs of the operators' commands, in turn

    # ---- messages

    def say(self, text):
        print(f"{time.monotonic() - self.began:6.1f} {text}", flush=True)

    def progress(self, text):
        if time.monotonic() - self.last_progress > 10:
            self.last_progress = time.monotonic()
            self.say(text)

    def did(self, deed):
        self.deeds[deed] += 1

    def crash(self, text):
        self.defect(text)

    def defect(self, text):
        self.defects.append(text)
        self.say(f"DEFECT: {text}")

    def wait(self, what, holds, seconds=240):
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.2)

    # ---- parts

    def __enter__(self):
        setup = self.root / "config" / "setup" / "servers"
        must(setup, "start", self.work / "servers", "--owner", str(os.getpid()))
        addresses = dict(line.split("=", 1) for line in (self.work / "servers/env").read_text().splitlines() if line)
        self.postgres = Postgres(addresses["INBOXD_TEST_PG"])
        self.brokers = Brokers(self.client, addresses["INBOXD_TEST_KAFKA"])
        self.brokers.run("topics", *loads.TOPICS)
        self.calls = self.work / "calls"
        self.calls.touch()
        port = free_port()
        self.service_url = f"http://127.0.0.1:{port}/call"
        self.service = subprocess.Popen(
            [*BOUND, sys.executable, CHAOS / "service.py", "127.0.0.1", str(port), self.calls],
            stderr=open(self.work / "service.log", "ab"), start_new_session=True)
        self.instances = [Instance(self, name, free_port()) for name in ("a", "b")]
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for instance in self.instances:
            if instance.process and instance.process.poll() is None:
                instance.process.kill()
        self.service.kill()
        shutil.copy(self.work / "servers/postgres/log", self.work / "postgres.log")  # deadlocks, refused statements
        subprocess.run([self.root / "config/setup/servers", "stop", self.work / "servers"], check=False)

    def run(self, *arguments, version=None, seconds=60, accepted=(0, 1)):
        """A command of a version, by default of the versions that run, in turn. Returns its output."""
        version = version or next(self.current)
        done = subprocess.run([version.inboxd, "--config", self.instances[0].file, *arguments], capture_output=True,
                              text=True, timeout=seconds, stdin=subprocess.DEVNULL)
        with open(self.work / "commands.log", "a") as log:
            log.write(f"{version.name}: {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}\n")
        if done.returncode not in accepted:
            raise RuntimeError(f"{version.name}: {' '.join(arguments)}: {done.returncode}: "
                               f"{done.stdout.strip()[-600:]} {done.stderr.strip()[-300:]}")
        return done.stdout

    # ---- traffic

    def start_traffic(self):
        self.application = loads.Application(self, self.rate)
        self.publisher = loads.Publisher(self)
        self.unparking = threading.Thread(target=self.operators.unpark, args=(self.stopping,), daemon=True)
        for part in (self.application, self.publisher, self.unparking):
            part.start()

    def handled(self):
        """Rows of each handler's table, and calls of the service."""
        counts = self.postgres.ask("select " + " || ' ' || ".join(
            f"(select count(*) from app.{table})" for table in loads.TABLES))
        return [*map(int, counts.split()), len(self.calls.read_bytes().splitlines())]

    def traffic(self, events=40):
        """Waits until every handler has handled so many more events."""
        before = self.handled()
        self.wait(f"every handler has handled {events} more events",
                  lambda: all(now >= then + events for now, then in zip(self.handled(), before)))

    def both_work(self):
        self.wait("both instances own sequences", lambda: self.postgres.ask(
            "select count(distinct owner) from inbox.sequence where leased_until > now()") == "2")
        self.traffic()
        for version in {instance.version for instance in self.instances}:
            self.look_at_status(version)

    def look_at_status(self, version):
        for finding in json.loads(self.run("status", "--json", version=version))["findings"]:
            if finding["severity"] == "problem" or finding["kind"] == "handler_settings_differ":
                is_slow_broker = "brokers do not answer" in finding["message"]  # on a busy machine
                self.note(f"status of {version.name}", "brokers" if is_slow_broker else finding["kind"],
                          finding["message"])

    def reload(self):
        """Both instances change modes and windows while they run."""
        self.variant = loads.Variant(
            plain_mode="mode: sequential, missing_key: partition", list_calls=20, concurrency=2,
            batch_mode="mode: batch, batch: {every: 1s, max_events: 50}"
        ) if self.variant == loads.Variant() else loads.Variant()
        for instance in self.instances:
            instance.reload()
        self.traffic()

    # ---- the books

    def check(self, version):
        """`verify` of the version that runs, if it has one, beside the traffic."""
        if " verify " not in must(version.inboxd, "-h"):
            self.say(f"{version.name} has no verify")
            return
        try:
            self.run("verify", version=version, seconds=300, accepted=(0,))
            self.did("verified")
        except RuntimeError as error:
            self.defect(str(error))

    def close_books(self):
        """Ends the traffic and counts; returns the loads."""
        self.stopping.set()
        self.unparking.join(120)
        self.publisher.finish()
        delivered, failed, left = self.application.finish()
        if failed or left:
            self.defect(f"producer: {delivered} delivered, {failed} failed, {left} left")
        ledger = Ledger(self)
        ledger.read_logs()
        pending = ledger.wait_drained(90)
        if pending:
            self.defect(f"still pending: {pending}")
        return ledger

    def note(self, place, kind, text):
        self.seen[place, kind] += 1
        self.examples.setdefault((place, kind), text)

    def report_announced(self, expected):
        """Warnings and errors in logs, and problems in `status`; a kind that is not expected there is a defect.

        A deadlock is a kind of its own.
        """
        for version, log in self.logs:
            for line in lines_of(log):
                if line["level"] in ("warn", "error"):
                    kind = line["kind"] if line["level"] == "warn" else "error " + line["kind"]
                    kind += " 40P01" if line.get("sqlstate") == "40P01" else ""
                    self.note(f"log of {version}", kind, json.dumps(line))
        for (place, kind), count in sorted(self.seen.items()):
            self.say(f"{place}: {kind} {count} times")
            if (place.split()[0], kind) not in expected and (place, kind) not in expected:
                self.defect(f"{place}: {kind} {count} times, for example {self.examples[place, kind]}")
