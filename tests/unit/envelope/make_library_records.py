#!/usr/bin/env python3
"""Writes library_records.hpp: the bytes that the systems' own libraries write for Kafka.

usage: python3 make_library_records.py

Needs the packages cloudevents 1.12.0 (PyPI) and cloudevents 10.0.0 (npm) on their usual paths, Java 17, Maven 3 and Go
1.24. The packages of Maven and Go stand below, and are fetched.

The libraries of MassTransit, NServiceBus, Wolverine and CAP come from NuGet, which was not at hand: their records in
frameworks_test.cpp are composed by hand.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from records_header import header, record  # noqa: E402
from run_go import run_go  # noqa: E402
from run_java import run_java  # noqa: E402

ARTIFACTS = ["org.springframework.kafka:spring-kafka:4.1.1", "tools.jackson.core:jackson-databind:3.1.3",
             "com.fasterxml.jackson.core:jackson-databind:2.21.3",
             "com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.21.3", "org.axonframework:axon-messaging:4.13.0",
             "io.cloudevents:cloudevents-kafka:4.0.1", "io.cloudevents:cloudevents-json-jackson:4.0.1"]
MODULES = ["github.com/cloudevents/sdk-go/protocol/kafka_sarama/v2@v2.15.2",
           "github.com/cloudevents/sdk-go/v2@v2.15.2", "github.com/dapr/components-contrib/pubsub@v1.16.1"]

ATTRIBUTES = {"id": "A234-1234-1234", "source": "/mycontext", "type": "com.example.order", "subject": "order-7",
              "time": "2024-05-01T12:00:00.25Z", "datacontenttype": "application/json"}

JAVASCRIPT = """
const {CloudEvent, Kafka} = require('cloudevents');
const hex = (text) => Buffer.from(text).toString('hex');
const event = new CloudEvent({...%s, partitionkey: 'k-1', data: {a: 1}});
for (const [name, mode] of [['javascript_binary', Kafka.binary], ['javascript_structured', Kafka.structured]]) {
  const {headers, value} = mode(event);
  // Headers that are undefined are not sent.
  const sent = Object.entries(headers).filter(([, text]) => text !== undefined);
  console.log(JSON.stringify({name, headers: sent.map(([key, text]) => [key, hex(text)]),
                              value: hex(typeof value === 'string' ? value : JSON.stringify(value))}));
}
""" % json.dumps(ATTRIBUTES)


def python_records():
    from cloudevents.http import CloudEvent
    from cloudevents.kafka import to_binary, to_structured
    event = CloudEvent(ATTRIBUTES, {"a": 1})
    for name, mode in (("python_binary", to_binary), ("python_structured", to_structured)):
        message = mode(event)
        headers = [(key, text.hex()) for key, text in message.headers.items()]
        yield {"name": name, "headers": headers, "value": message.value.hex()}


def main():
    lines = subprocess.run(["node", "-e", JAVASCRIPT], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines += run_java(HERE / "writers" / "Records.java", ARTIFACTS)
    lines += run_go(HERE / "writers" / "records.go", MODULES)
    records = [*python_records(), *map(json.loads, lines.splitlines())]
    text = header("make_library_records.py", "".join(map(record, records)))
    (HERE / "library_records.hpp").write_text(text)


if __name__ == "__main__":
    main()
