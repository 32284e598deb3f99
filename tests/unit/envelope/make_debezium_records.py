#!/usr/bin/env python3
"""Writes debezium_records.hpp: the records of Debezium's connector for PostgreSQL, by Kafka Connect's converters.

usage: python3 make_debezium_records.py HOST PORT USER     needs Java 17, Maven 3, and of Maven the artifacts below

The server is a PostgreSQL with wal_level = logical that asks for no password; schema inventory of its database postgres
is replaced. Positions and times differ from run to run, so no test may expect one.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from records_header import header, record  # noqa: E402
from run_java import run_java  # noqa: E402

ARTIFACTS = ["io.debezium:debezium-embedded:3.6.1.Final", "io.debezium:debezium-connector-postgres:3.6.1.Final",
             "org.apache.kafka:connect-json:4.3.0"]


def main():
    lines = run_java(HERE / "writers" / "Debezium.java", ARTIFACTS, "\n".join(sys.argv[1:4]) + "\n")
    records = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    (HERE / "debezium_records.hpp").write_text(header("make_debezium_records.py", "".join(map(record, records))))


if __name__ == "__main__":
    main()
