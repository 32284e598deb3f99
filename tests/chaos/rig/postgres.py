"""A primary and a synchronous standby, data and WAL each in a small file system."""
import os
import shutil
import signal
import subprocess
import time

from rig.network import must
from rig.processes import Supervised

SETTINGS = """
listen_addresses = '*'
shared_buffers = 64MB
fsync = off
full_page_writes = off
max_connections = 300
synchronous_commit = on
wal_level = replica
hot_standby = on
archive_mode = on
archive_timeout = 0
wal_keep_size = 64MB
max_wal_size = 128MB
min_wal_size = 32MB
wal_sender_timeout = 5s
wal_receiver_timeout = 5s
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 1s
tcp_user_timeout = 10s
tcp_keepalives_idle = 5
tcp_keepalives_interval = 2
tcp_keepalives_count = 3
log_line_prefix = '%m [%p] '
log_min_error_statement = fatal
"""


class Server(Supervised):
    def __init__(self, rig, host):
        self.folder = rig.work / host.name
        self.folder.mkdir()
        super().__init__(rig, host.name, host, self.folder / "log")
        self.data_disk = self.folder / "disk"
        self.wal_disk = self.folder / "wal"
        rig.mount(self.data_disk, 384 + 48 * rig.minutes)
        rig.mount(self.wal_disk, 512)
        self.data = self.data_disk / "data"
        self.wal = self.wal_disk / "pg_wal"
        for path in (self.folder, self.data_disk, self.wal_disk):
            shutil.chown(path, "postgres", "postgres")

    def as_postgres(self, program, *arguments):
        return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--",
                f"{self.rig.pg_bin}/{program}", *map(str, arguments)]

    def command(self):
        return self.as_postgres("postgres", "-D", self.data, "-c", f"unix_socket_directories={self.folder}", "-c",
                                f"archive_command=cp %p {self.rig.archive}/%f", "-c", f"cluster_name={self.name}")

    def create(self):
        must(*self.as_postgres("initdb", "-D", self.data, "-X", self.wal, "-U", "postgres", "--auth=trust",
                               "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"))
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(SETTINGS)
        with open(self.data / "pg_hba.conf", "a") as file:
            file.write("host all all 10.99.0.0/24 trust\nhost replication all 10.99.0.0/24 trust\n")

    def clear(self):
        for path in (self.data, self.wal):
            shutil.rmtree(path, ignore_errors=True)

    def kill(self):
        """Ends every process of the server at once, so that no backend outlives the postmaster."""
        with self.lock:
            self.is_held = True
            self.end_all()

    def end_all(self):
        with self.lock:
            self.is_expected = True
            while processes := must("ip", "netns", "pids", self.host.name).split():
                for process in processes:
                    try:
                        os.kill(int(process), signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                time.sleep(0.05)
            if self.process:
                self.process.wait()

    def read_alone(self):
        """The lists as this server had them when it was killed: {event id: time of its insert}."""
        folder = self.folder / "alone"
        folder.mkdir(exist_ok=True)
        shutil.chown(folder, "postgres", "postgres")
        with open(self.log_file, "ab") as log:
            server = subprocess.Popen(
                self.as_postgres("postgres", "-D", self.data, "-c", "listen_addresses=", "-c", "archive_mode=off", "-c",
                                 f"unix_socket_directories={folder}"), stdout=log, stderr=log, start_new_session=True)
        try:
            rows = self.wait_answer("select event_id, at from app.list", folder)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
        return dict(line.split("|") for line in rows.splitlines())

    def wait_answer(self, sql, folder, seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.ask(sql, 30, folder)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    def replace_by(self, backup, settings):
        self.clear()
        must("cp", "-a", backup / "data", self.data)
        must("cp", "-a", backup / "pg_wal", self.wal)
        (self.data / "pg_wal").unlink()
        (self.data / "pg_wal").symlink_to(self.wal)
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.write(settings)
        signal_file = self.data / "recovery.signal"
        signal_file.touch()
        shutil.chown(signal_file, "postgres", "postgres")

    def copy_from(self, other, to_data=None, to_wal=None, standby=True):
        """A network fault may end it: pg_basebackup removes what it wrote, and is repeated."""
        command = self.host.enter(*self.as_postgres(
            "pg_basebackup", "-D", to_data or self.data, "--waldir", to_wal or self.wal, "-d",
            f"host={other.host.address} user=postgres application_name={self.name}", "--checkpoint=fast", "--no-sync",
            *(["-R"] if standby else [])))
        for attempts_left in (2, 1, 0):
            try:
                return must(*command, timeout=120)
            except RuntimeError:
                if attempts_left == 0:
                    raise

    def ask(self, sql, seconds=10, folder=None):
        """The answer of this server, unaligned, by its socket."""
        done = subprocess.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", str(folder or self.folder), "-U", "postgres", "postgres",
             "-c", sql],
            capture_output=True, text=True, timeout=seconds)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout.strip()

    def wait_for(self, sql, answer, seconds=90):
        deadline = time.monotonic() + seconds
        last = ""
        while time.monotonic() < deadline:
            try:
                last = self.ask(sql)
                if last == answer:
                    return
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                last = error
            time.sleep(0.3)
        raise RuntimeError(f"{self.name}: {sql} did not become {answer}: {last}")


class Postgres:
    def __init__(self, rig, hosts):
        self.rig = rig
        self.all = [Server(rig, host) for host in hosts]
        self.primary, self.standby = self.all
        both = ",".join(host.address for host in hosts)
        self.url = f"postgresql://postgres@{both}/postgres?target_session_attrs=read-write&connect_timeout=3"

    def start(self):
        self.primary.create()
        self.primary.start()
        self.primary.wait_for("select 1", "1")
        self.attach_standby()

    def attach_standby(self):
        """Builds the standby from the primary, and lets commits wait for it from then on."""
        self.standby.clear()
        self.standby.copy_from(self.primary)
        self.standby.start()
        self.primary.wait_for("select count(*) from pg_stat_replication where state = 'streaming'", "1")
        self.synchronous(True)

    def synchronous(self, on):
        names = f'"{self.standby.name}"' if on else ""
        self.primary.ask(f"alter system set synchronous_standby_names = '{names}'")
        self.primary.ask("select pg_reload_conf()")

    def crash(self):
        """The supervisor starts it again."""
        self.primary.end_all()
        self.wait_healthy()

    def wait_healthy(self):
        self.primary.wait_for("select count(*) from pg_stat_replication where state = 'streaming'", "1", 120)

    def fail_over(self):
        """Kills the primary, promotes the standby, and makes the old primary its standby."""
        self.primary.kill()
        self._promote()

    def fail_over_async(self, seconds):
        """The standby falls behind, so that it lacks commits when it is promoted."""
        self.synchronous(False)
        names = self.primary.name, self.standby.name
        self.rig.network.set_rule(*names, loss=1)
        self.rig.pause(seconds)
        self.primary.kill()
        self.rig.network.set_rule(*names)
        self.rig.note_lost_commits(self.primary.read_alone())
        self._promote()

    def _promote(self):
        old, new = self.primary, self.standby
        new.wait_for("select pg_is_in_recovery()", "t")
        new.ask("select pg_promote()", 90)
        new.wait_for("select pg_is_in_recovery()", "f")
        self.primary, self.standby = new, old
        self.synchronous(False)
        self.attach_standby()

    def restore(self, seconds, lost=None):
        """Restores a base backup that was taken some seconds before; with `lost`, up to a time so long ago."""
        backup = self.rig.work / "backup"
        shutil.rmtree(backup, ignore_errors=True)
        for segment in self.rig.archive.iterdir():
            segment.unlink()
        backup.mkdir()
        shutil.chown(backup, "postgres", "postgres")
        self.primary.copy_from(self.primary, backup / "data", backup / "pg_wal", standby=False)
        self.rig.pause(seconds)
        target = "recovery_target = 'immediate'"
        if lost:
            now = self.primary.ask("select clock_timestamp()")
            self.rig.pause(lost)
            segment = self.primary.ask("select pg_walfile_name(pg_current_wal_lsn())")
            self.primary.ask("select pg_switch_wal()")
            self.primary.wait_for(f"select last_archived_wal >= '{segment}' from pg_stat_archiver", "t")
            target = f"recovery_target_time = '{now}'"
        self.primary.kill()
        self.standby.kill()
        self.rig.note_lost_commits(self.primary.read_alone())
        self.primary.replace_by(backup, f"{target}\nrecovery_target_action = promote\n"
                                        f"restore_command = 'cp {self.rig.archive}/%f %p'\n"
                                        "synchronous_standby_names = ''\n")
        self.primary.start()
        self.primary.wait_for("select pg_is_in_recovery()", "f")
        for setting in ("recovery_target", "recovery_target_time", "recovery_target_action", "restore_command"):
            self.primary.ask(f"alter system reset {setting}")  # else the next standby stops there, too
        self.synchronous(False)
        self.attach_standby()

    def ask(self, sql, seconds=20):
        return self.primary.ask(sql, seconds)
