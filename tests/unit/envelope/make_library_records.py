#!/usr/bin/env python3
"""Writes library_records.hpp: the bytes that CloudEvents' own libraries write for Kafka.

Needs the packages cloudevents 1.12.0 (PyPI) and cloudevents 10.0.0 (npm), both on their usual paths:
  python3 tests/unit/envelope/make_library_records.py > tests/unit/envelope/library_records.hpp
"""
import json
import subprocess

from cloudevents.http import CloudEvent
from cloudevents.kafka import to_binary, to_structured

ATTRIBUTES = {"id": "A234-1234-1234", "source": "/mycontext", "type": "com.example.order", "subject": "order-7",
              "time": "2024-05-01T12:00:00.25Z", "datacontenttype": "application/json"}

JAVASCRIPT = """
const {CloudEvent, Kafka} = require('cloudevents');
const event = new CloudEvent({...%s, partitionkey: 'k-1', data: {a: 1}});
for (const mode of [Kafka.binary, Kafka.structured]) {
  const {headers, value} = mode(event);
  console.log(JSON.stringify({headers, value: typeof value === 'string' ? value : JSON.stringify(value)}));
}
""" % json.dumps(ATTRIBUTES)


def literal(text):
    return "\n      ".join('R"(' + text[at:at + 100] + ')"' for at in range(0, len(text), 100))


def record(name, headers, value):
    # Headers that are undefined in JavaScript are not sent.
    pairs = [(header, text) for header, text in headers.items() if text is not None]
    lines = ",\n".join('       {"%s", "%s"}' % pair for pair in pairs)
    return "inline LibraryRecord %s() {\n  return {\n      {\n%s},\n      %s};\n}\n" % (name, lines, literal(value))


def main():
    event = CloudEvent(ATTRIBUTES, {"a": 1})
    print("// Written by make_library_records.py.\n#pragma once\n#include \"records.hpp\"\n")
    print("namespace inboxd::envelope::test {\n")
    print("struct LibraryRecord {\n  Headers headers;\n  std::string_view value;\n};\n")
    for name, mode in (("python_binary", to_binary), ("python_structured", to_structured)):
        message = mode(event)
        print(record(name, {key: text.decode() for key, text in message.headers.items()}, message.value.decode()))
    lines = subprocess.run(["node", "-e", JAVASCRIPT], check=True, capture_output=True, text=True).stdout.splitlines()
    for name, line in zip(("javascript_binary", "javascript_structured"), lines):
        message = json.loads(line)
        print(record(name, message["headers"], message["value"]))
    print("}  // namespace inboxd::envelope::test")


main()
