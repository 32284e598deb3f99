"""Puts the parts together and keeps them running."""
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from rig import loads
from rig.brokers import Brokers
from rig.chaos import Chaos
from rig.daemons import Daemons
from rig.ledger import Ledger
from rig.network import Network, must
from rig.operators import Operators
from rig.postgres import Postgres

ADDRESSES = {"operator": "10.99.0.1", "application": "10.99.0.2", "service": "10.99.0.3",
             **{f"broker{i}": f"10.99.0.1{i}" for i in (1, 2, 3)},
             **{f"postgres{i}": f"10.99.0.2{i}" for i in (1, 2)},
             **{f"daemon{i}": f"10.99.0.3{i}" for i in (1, 2, 3, 4, 5)}}


class Rig:
    def __init__(self, options, work, kafka_home, pg_bin):
        self.minutes = options.minutes
        self.seed = options.seed
        self.work = work
        self.kafka_home = kafka_home
        self.pg_bin = pg_bin
        self.inboxd = options.build / "inboxd"
        self.client = options.build / "tests" / "chaos" / "chaos_client"
        self.rate = options.rate
        self.patience = options.patience
        self.schema = loads.SCHEMA
        self.only = options.only
        self.databases = options.databases
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.log = open(work / "rig.log", "a", buffering=1)
        self.crashes = []
        self.lost_lists = []
        self.last_progress = 0.0
        self.closing = threading.Event()
        threading.excepthook = self.thread_ended

    # ---- messages

    def say(self, text):
        line = f"{time.strftime('%H:%M:%S')} {time.monotonic() - self.began:6.1f} {text}"
        with self.lock:
            print(line, flush=True)
            self.log.write(line + "\n")

    def progress(self, text):
        if time.monotonic() - self.last_progress > 10:
            self.last_progress = time.monotonic()
            self.say(text)

    def crash(self, text):
        self.crashes.append(text)
        self.say(f"CRASH: {text}")

    def thread_ended(self, what):
        """By an exception, so the rig may have left out faults or load."""
        threading.__excepthook__(what)
        self.crash(f"{what.thread.name} of the rig ended: {what.exc_value!r}")

    def note_lost_commits(self, rows):
        """The lists of a primary that was killed; the ledger finds the rows that were applied again."""
        self.lost_lists.append(rows)

    # ---- parts

    def mount(self, path, megabytes):
        path.mkdir(parents=True)
        must("mount", "-t", "tmpfs", "-o", f"size={megabytes:.0f}m", "tmpfs", str(path))

    def pause(self, seconds):
        self.closing.wait(seconds)

    def set_up(self):
        self.network = Network(ADDRESSES, open(self.work / "switch.log", "ab"))
        host = self.network.hosts
        self.operator, self.application_host, self.service_host = (
            host[name] for name in ("operator", "application", "service"))
        self.service_url = f"http://{self.service_host.address}:8080/call"
        self.archive = self.work / "archive"
        self.archive.mkdir()
        shutil.chown(self.archive, "postgres", "postgres")
        self.brokers = Brokers(self, [host[f"broker{i}"] for i in (1, 2, 3)])
        self.postgres = Postgres(self, [host[f"postgres{i}"] for i in (1, 2)])
        self.daemons = Daemons(self, [host[f"daemon{i}"] for i in (1, 2, 3, 4, 5)])
        self.operators = Operators(self)
        self.chaos = Chaos(self, self.only)
        kafka = threading.Thread(target=self.attempt, args=(lambda: self.brokers.start(loads.TOPICS),))
        kafka.start()
        self.postgres.start()
        self.say("postgres: a primary and its synchronous standby are up")
        kafka.join()
        if self.failed:
            raise self.failed
        self.say("kafka: three brokers are up")
        self.calls = self.work / "calls"
        self.calls.touch()
        self.service = subprocess.Popen(
            self.service_host.enter(sys.executable, Path(__file__).with_name("service.py"),
                                    self.service_host.address, 8080, self.calls),
            stderr=open(self.work / "service.log", "ab"), start_new_session=True)
        self.daemons.start()
        self.say("inboxd: five daemons are up")
        threading.Thread(target=self.look_after, daemon=True).start()

    failed = None

    def attempt(self, run):
        try:
            run()
        except Exception as error:
            self.failed = error

    def look_after(self):
        while not self.closing.wait(0.5):
            for part in (*self.daemons.all, *self.postgres.all, *self.brokers.all):
                part.look_after()

    # ---- the run

    def run(self):
        self.set_up()
        application = loads.Application(self, self.rate)
        application.start()
        publisher = loads.Publisher(self)
        publisher.start()
        end = time.monotonic() + 60 * self.minutes
        self.chaos.start()
        unparking = threading.Thread(target=self.operators.unpark, args=(self.chaos.stopping,), daemon=True)
        unparking.start()
        while time.monotonic() < end:
            time.sleep(1)
            self.progress(f"{application.produced} records produced, {application.resent} resent, "
                          f"{sum(self.chaos.counts.values())} faults, {self.applied()}")
        self.chaos.finish()
        unparking.join(120)
        publisher.finish()
        delivered, failed, left = application.finish()
        self.say(f"producer: {delivered} records delivered, {failed} failed, {left} left")
        ledger = Ledger(self)
        ledger.read_logs()
        for daemon in self.daemons.all:  # a reload without a database was refused
            daemon.reload()
        pending = ledger.wait_drained(self.patience)
        if pending:
            self.say(f"STUCK: {pending}")
            self.attempt(lambda: self.say(self.daemons.run("status")))
        contradictions = ledger.verify()
        wrong = ledger.report(ledger.loads(), self.chaos.counts)
        others = self.other_problems()
        for text in others:
            self.say(f"also: {text}")
        is_good = not (wrong or pending or contradictions or others)
        if not is_good:
            self.attempt(lambda: must("pg_dump", "-h", self.postgres.primary.folder, "-U", "postgres", "-f",
                                      self.work / "database.sql", "postgres"))
        return is_good

    def other_problems(self):
        """The reasons to doubt good books."""
        out = [*self.crashes, *self.chaos.failures]
        if not self.chaos.counts:
            out.append("no fault happened: let the run last longer (--minutes)")
        return out

    def applied(self):
        try:
            return self.postgres.ask("select 'applied: ' || (select count(*) from app.plain) || ' plain, ' || "
                                     "(select count(*) from app.list) || ' in lists'", 5)
        except Exception:
            return "the database does not answer"
