"""Three brokers of Kafka, each also a controller, each with its data in a small file system of its own."""
import subprocess
import time

from rig.network import must
from rig.processes import Supervised

CLUSTER_ID = "aW5ib3hkLWNoYW9zLWthZg"
LOGGING = """appenders = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{{1}}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
logger.started.name = kafka.server.KafkaRaftServer
logger.started.level = info
"""


class Broker(Supervised):
    def __init__(self, rig, number, host, addresses):
        self.folder = rig.work / host.name
        self.folder.mkdir()
        super().__init__(rig, host.name, host, self.folder / "log")
        self.data = self.folder / "data"
        rig.mount(self.data, 256 + 32 * rig.minutes)
        self.logging = self.folder / "log4j2.properties"
        self.logging.write_text(LOGGING.format(file=self.folder / "log"))
        self.properties = self.folder / "server.properties"
        voters = ",".join(f"{i + 1}@{address}:9093" for i, address in enumerate(addresses))
        self.properties.write_text(f"""process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
controller.quorum.request.timeout.ms=4000
controller.quorum.election.timeout.ms=2000
controller.quorum.fetch.timeout.ms=4000
listeners=PLAINTEXT://{host.address}:9092,CONTROLLER://{host.address}:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={self.data}/logs
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=4
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=3
share.coordinator.state.topic.min.isr=2
group.initial.rebalance.delay.ms=0
replica.lag.time.max.ms=10000
broker.session.timeout.ms=9000
log.index.size.max.bytes=1048576
log.cleaner.dedupe.buffer.size=8388608
controlled.shutdown.enable=false
""")
        self.format()

    def java(self, *arguments, heap="128m", quick=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")):
        return ["java", f"-Xms{heap}", f"-Xmx{heap}", *quick, "-Djava.awt.headless=true",
                f"-Dlog4j2.configurationFile={self.logging}", "-cp", f"{self.rig.kafka_home}/libs/*", *arguments]

    def answers(self):
        return subprocess.run(
            self.rig.operator.enter("bash", "-c", f"exec 3<>/dev/tcp/{self.host.address}/9092"), capture_output=True,
            timeout=30).returncode == 0

    def format(self):
        must(*self.java("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--config",
                        str(self.properties)))

    def command(self):
        return self.java("kafka.Kafka", str(self.properties), heap="320m")


class Brokers:
    def __init__(self, rig, hosts):
        self.rig = rig
        addresses = [host.address for host in hosts]
        self.bootstrap = ",".join(f"{address}:9092" for address in addresses)
        self.all = [Broker(rig, i + 1, host, addresses) for i, host in enumerate(hosts)]

    def start(self, topics):
        for broker in self.all:
            broker.start()
        deadline = time.monotonic() + 180
        for broker in self.all:
            while "Kafka Server started" not in broker.log_file.read_text(errors="replace"):
                if time.monotonic() > deadline or not broker.is_running():
                    raise RuntimeError(f"{broker.name} does not start, see {broker.log_file}")
                time.sleep(0.2)
        self.client("topics", *topics)

    def wait_up(self, seconds=120):
        """After a restart: all answer, and had some seconds to catch up."""
        self.rig.pause(2)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not all(broker.answers() for broker in self.all):
            self.rig.pause(0.5)
        self.rig.pause(5)

    def client(self, command, *arguments):
        """Runs the client on the operator's host, which has no faults."""
        return must(*self.rig.operator.enter(self.rig.client, command, self.bootstrap, *arguments), timeout=240)

    def records(self, topic):
        """(partition, offset, key, id, payload) of every record, in log order."""
        return [line.split("\t", 4) for line in self.client("read", topic).splitlines()]
