"""Instances of either version, with a log for each start."""
import json
import signal
import subprocess
import time
import urllib.error
import urllib.request

from rig.loads import configuration

# The end of this program ends them, however it ends.
BOUND = ["setpriv", "--pdeathsig", "KILL", "--"]


class Instance:
    def __init__(self, stage, name, port):
        self.stage = stage
        self.name = name
        self.port = port
        self.file = stage.work / f"{name}.yaml"
        self.starts = 0
        self.process = None

    def write_file(self):
        self.file.write_text(configuration(self.stage, self.name, self.stage.variant) +
                             f"admin: {{listen: \"127.0.0.1:{self.port}\"}}\n")

    def start(self, version, *options):
        self.version = version
        self.starts += 1
        self.log = self.stage.work / f"{self.name}-{self.starts}-{version.name}.log"
        self.stage.logs.append((version.name, self.log))
        self.write_file()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*BOUND, version.inboxd, "--config", self.file, "run", *options],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.wait_ready()

    def wait_ready(self):
        def answers():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ({self.version.name}) ended with {self.process.returncode}:\n"
                                     + "\n".join(self.log.read_text().splitlines()[-5:]))
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).status == 200
            except (urllib.error.URLError, OSError):
                return False
        self.stage.wait(f"{self.name} ({self.version.name}) is ready", answers)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        if status != 0:
            raise AssertionError(f"{self.name} ({self.version.name}) ended with {status} after SIGTERM")

    def replace(self, version, *options):
        self.stage.did("replaced")
        self.stop()
        self.start(version, *options)

    def crash(self, *options):
        """SIGKILL, then a start of the same version, as an init system would."""
        self.stage.did("killed")
        self.process.kill()
        self.process.wait()
        self.start(self.version, *options)

    def reload(self):
        def reloads():
            return sum(line.get("kind") == "daemon.reloaded" for line in lines_of(self.log))
        self.stage.did("reloaded")
        before = reloads()
        self.write_file()
        self.process.send_signal(signal.SIGHUP)
        self.stage.wait(f"{self.name} ({self.version.name}) has reloaded", lambda: reloads() > before)


def lines_of(log):
    out = []
    for text in log.read_text(errors="replace").splitlines():
        try:
            out.append(json.loads(text))
        except json.JSONDecodeError:
            out.append({"level": "error", "kind": "not JSON", "message": text})
    return out
