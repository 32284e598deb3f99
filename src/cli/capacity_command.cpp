// `inboxd capacity`: the needs of a planned load. Asks no server.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ostream>

#include "cli/command.hpp"
#include "cli/value_text.hpp"
#include "operations/capacity.hpp"

namespace inboxd::cli {
namespace {

using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr std::int64_t max_rate = 10'000'000;
constexpr std::int64_t max_payload = 100'000'000;
constexpr std::int64_t max_days = 36'500;

std::string cores_text(double cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", cores);
  return text;
}

std::string bytes_of(double bytes) { return bytes_text(static_cast<std::int64_t>(std::min(bytes, 9e18))); }

operations::Load load_of(const operations::Arguments& arguments) {
  const auto number = [&](const char* name) { return static_cast<double>(*arguments.number(name)); };
  operations::Load out;
  out.rate = number("rate");
  out.average = arguments.number("average") ? number("average") : out.rate;
  out.payload = number("payload");
  out.handlers = number("handlers");
  out.writes_rows = !arguments.flag("no-rows");
  out.has_lz4 = arguments.flag("lz4");
  out.keep_days = number("keep");
  out.keep_ids_days = number("keep-ids");
  out.database_cores = number("database-cores");
  out.instance_cores = number("instance-cores");
  return out;
}

operations::Document document_of(const operations::Capacity& capacity) {
  return {{"daemon_cores", capacity.daemon_cores},
          {"database_cores", capacity.database_cores},
          {"wal_bytes_per_second", capacity.wal_bytes_per_second},
          {"disk_bytes_per_day", capacity.disk_bytes_per_day},
          {"disk_bytes", capacity.disk_bytes},
          {"daemon_memory_bytes", capacity.daemon_memory},
          {"filter_bytes", capacity.filters},
          {"id_index_bytes", capacity.id_index},
          {"instances", capacity.instances},
          {"databases", capacity.databases},
          {"advice", capacity.advice}};
}

std::string text_of(const operations::Capacity& capacity, const Look& look) {
  Sheet sheet;
  sheet.add("daemon", cores_text(capacity.daemon_cores) + " busy cores, " + std::to_string(capacity.instances) +
                          (capacity.instances == 1 ? " instance, " : " instances, ") +
                          bytes_of(capacity.daemon_memory) + " of memory each, " + bytes_of(capacity.filters) +
                          " of it filters of ids");
  sheet.add("PostgreSQL", cores_text(capacity.database_cores) + " busy cores, " + std::to_string(capacity.databases) +
                              (capacity.databases == 1 ? " database" : " databases"));
  sheet.add("WAL", bytes_of(capacity.wal_bytes_per_second) + " a second");
  sheet.add("disk", bytes_of(capacity.disk_bytes_per_day) + " a day, " + bytes_of(capacity.disk_bytes) + " in all");
  sheet.add("index of ids", bytes_of(capacity.id_index) + " of that" +
                                (capacity.databases == 1 ? "" : ", in each database"));
  std::string out = sheet.text(look);
  for (const std::string& advice : capacity.advice) out += "advice: " + advice + "\n";
  return out;
}

base::ExitCode run_capacity(Session& session, const operations::Arguments& arguments) {
  const operations::Load load = load_of(arguments);
  if (load.average > load.rate) {
    session.say("capacity: --average is above --rate, which is the peak; see inboxd capacity -h");
    return base::ExitCode::usage;
  }
  const operations::Capacity capacity = operations::capacity_of(load);
  if (session.json) {
    session.print(document_of(capacity));
  } else {
    session.output.out << text_of(capacity, session.output.look) << std::flush;
  }
  return base::ExitCode::done;
}

operations::Parameter number_of(const char* name, const char* help, const char* placeholder, std::int64_t usual,
                                std::int64_t least, std::int64_t most) {
  return {name, Kind::number, help, placeholder, Place::option, usual, least, most};
}

}  // namespace

Command capacity_command() {
  return {"capacity",
          "Estimates the cores, WAL, disk and memory that a planned load needs, from measured costs "
          "(sql/capacity.md). Asks no server and reads no configuration.",
          {{"capacity --rate 20000 --payload 1000 --handlers 2 --keep 7", "20,000 events a second of 1 kB"}},
          {number_of("rate", "events a second, at the peak", "N", 1'000, 1, max_rate),
           {"average", Kind::number, "events a second over days (default: as at the peak)", "N", Place::option, {}, 1,
            max_rate},
           number_of("payload", "bytes of a payload", "BYTES", 256, 0, max_payload),
           number_of("handlers", "handlers of each event", "N", 1, 0, 1'000),
           {"no-rows", Kind::flag, "the handlers write no row for each event (http, exec, kafka)"},
           {"lz4", Kind::flag, "the database has default_toast_compression = lz4"},
           number_of("keep", "days of retention.events", "DAYS", 30, 0, max_days),
           number_of("keep-ids", "days of retention.ledger", "DAYS", 30, 0, max_days),
           number_of("database-cores", "cores of the database server", "N", 4, 1, 1'000),
           number_of("instance-cores", "cores of each instance", "N", 2, 1, 1'000)},
          run_capacity};
}

}  // namespace inboxd::cli
