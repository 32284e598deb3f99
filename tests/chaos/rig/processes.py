"""A process that the rig keeps running, as an init system would."""
import signal
import subprocess
import threading
import time


class Supervised:
    """Restarts its process after a second, unless it is held down. Notes each exit that no fault explains."""

    def __init__(self, rig, name, host, log):
        self.rig = rig
        self.name = name
        self.host = host
        self.log_file = log
        self.lock = threading.RLock()
        self.process = None
        self.is_held = True
        self.is_expected = False
        self.started_at = self.ended_at = 0.0

    def command(self):
        raise NotImplementedError

    def environment(self):
        return None

    def start(self):
        with self.lock:
            self.is_held = False
            self._spawn()

    def _spawn(self):
        if self.process and self.process.poll() is None:
            return
        self.is_expected = False
        self.started_at = time.monotonic()
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(self.host.enter(*self.command()), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=self.environment(), start_new_session=True)

    def signal(self, number):
        with self.lock:
            if self.process and self.process.poll() is None:
                if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGQUIT, signal.SIGINT):
                    self.is_expected = True
                self.process.send_signal(number)

    def kill(self):
        """SIGKILL, and stays down until start()."""
        with self.lock:
            self.is_held = True
            self.signal(signal.SIGKILL)
            if self.process:
                self.process.wait()

    def is_running(self):
        with self.lock:
            return self.process is not None and self.process.poll() is None

    def look_after(self):
        """Called each half second."""
        with self.lock:
            if self.process is None or self.process.poll() is None:
                self.ended_at = 0.0
                return
            if not self.ended_at:
                self.ended_at = time.monotonic()
                if not self.is_expected and not self.is_held:
                    self.ended(self.process.returncode)
            if not self.is_held and time.monotonic() - self.ended_at >= 1:
                self.ended_at = 0.0
                self._spawn()

    def ended(self, status):
        """A process ended on its own."""
        self.rig.say(f"{self.name} ended with {status}")
