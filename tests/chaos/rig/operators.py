"""Operators' commands at random moments."""
import subprocess
import time

HANDLERS = ["plain", "list", "parked", "released", "batch", "publish", "received", "notify", "copy"]


class Operators:
    def __init__(self, rig):
        self.rig = rig

    def draw(self, draw):
        verb = draw.choice([self.replay, self.release, self.retry, self.skip, self.pause, self.seek, self.backfill,
                            self.forget])
        text, run = verb(draw)
        return {"operator"}, text, run

    def command(self, *arguments):
        """Tolerates a database or brokers that are not reached just now, and a handler that was renamed just now."""
        try:
            return self.rig.daemons.run(*arguments, "--yes", accepted=(0, 1, 69, 75))
        except subprocess.TimeoutExpired:
            return ""
        except RuntimeError as error:
            if "unknown handler list" not in str(error):
                raise
            return ""

    def replay(self, draw):
        handler = draw.choice(["plain", "parked", "released"])
        return f"dead replay --handler {handler}", lambda: self.command("dead", "replay", "--handler", handler)

    def release(self, draw):
        return "lanes release --handler released", lambda: self.command("lanes", "release", "--handler", "released")

    def retry(self, draw):
        handler = draw.choice(HANDLERS)
        return f"events retry --handler {handler}", lambda: self.command("events", "retry", "--handler", handler)

    def skip(self, draw):
        def run():
            try:
                event = self.rig.postgres.ask("select event_id from inbox.deliveries where handler = 'plain' and "
                                              "state in ('retrying', 'due') limit 1")
            except (RuntimeError, subprocess.TimeoutExpired):
                return
            if event:
                self.command("events", "skip", event, "--handler", "plain", "--reason", "chaos")
        return "events skip of a pending event of plain", run

    def pause(self, draw):
        handler, seconds = draw.choice(HANDLERS), draw.uniform(2, 8)

        def run():
            self.command("handlers", "pause", handler, "--reason", "chaos")
            self.rig.pause(seconds)
            self.command("handlers", "resume", handler)  # the end of the run resumes again
        return f"handlers pause {handler} for {seconds:.0f} s", run

    def seek(self, draw):
        topic, partition, back = draw.choice(["keyed", "plain", "outgoing"]), draw.randrange(3), draw.randrange(1, 500)

        def run():
            try:
                position = self.rig.postgres.ask(f"select position from inbox.lag where topic = '{topic}' and "
                                                 f"partition = {partition}")
            except (RuntimeError, subprocess.TimeoutExpired):
                return
            if position:
                self.command("partitions", "seek", topic, str(partition), "--to", str(max(0, int(position) - back)))
        return f"partitions seek {topic} {partition} {back} back", run

    def backfill(self, draw):
        handler = draw.choice(HANDLERS)
        return (f"handlers backfill {handler} --from 1m",
                lambda: self.command("handlers", "backfill", handler, "--from", "1m"))

    def forget(self, draw):
        key = f"person-{draw.randrange(10)}"
        return f"events forget --key {key}", lambda: self.command("events", "forget", "--key", key)

    def unpark(self, stopping):
        """Now and then replays the dead letters that park keys, so that these loads continue."""
        while not stopping.wait(6):
            try:
                for handler in ("parked", "released"):
                    self.command("dead", "replay", "--handler", handler)
            except RuntimeError as error:
                self.rig.crash(str(error))

    def resume_all(self):
        """After a restore a pause may be back."""
        for handler in self.rig.postgres.ask("select handler from inbox.backlog where is_paused").splitlines():
            self.rig.daemons.run("handlers", "resume", handler, "--yes")
