#include "config/settings_table.hpp"

#include "base/text.hpp"
#include "config/settings_table_rows.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

std::string limit_text(const Description& about, std::int64_t limit) {
  switch (about.type) {
    case Type::duration:
    case Type::keep:
      return duration_text(std::chrono::milliseconds{limit});
    case Type::size:
      return size_text(limit);
    default:
      return std::to_string(limit);
  }
}

std::string list_of(const std::string& entry) { return entry.empty() ? entry : "each " + entry; }

}  // namespace

Table settings_table() {
  Table table;
  table.groups = {
      {"database", "The PostgreSQL database that holds the inbox."},
      {"kafka", "The Kafka cluster to read; may be left out if all topics are local."},
      {"shard", "Which of several databases that share the topics this is."},
      {"topics", "The topics to read; at least one."},
      {"ingest", "How records are stored."},
      {"local", "How events that the application enqueues are read."},
      {"dispatch", "How stored events reach the handlers."},
      {"handlers", "The handlers of events; at least one."},
      {"handler_defaults", "Defaults for all handlers."},
      {"outbox", "How the relay sends published messages to Kafka."},
      {"retention", "How long things are kept."},
      {"ledger", "The ids of stored events, in generations."},
      {"admin", "The port for health checks, metrics and operations."},
      {"tracing", "Spans for a trace collector."},
      {"log", "Log lines."},
      {"shutdown", "How the daemon stops."},
      {"liveness", "When the daemon counts as stalled."},
  };
  add_intake_rows(table);
  add_handler_rows(table);
  add_service_rows(table);
  return table;
}

std::vector<Row<Handler>> Table::handler_defaults() const {
  std::vector<Row<Handler>> out;
  for (const Row<Handler>& row : handlers) {
    if (row.about.has_common_default) out.push_back(row);
  }
  return out;
}

std::string range_of(const Description& about) {
  switch (about.type) {
    case Type::text:
      return about.wanted;
    case Type::texts:
      return list_of(about.wanted);
    case Type::flag:
      return "true or false";
    case Type::start:
      return base::joined(about.choices) + ", or an RFC 3339 time";
    case Type::choice:
      return base::joined(about.choices) + (about.choices.size() == 1 ? " only" : "");
    case Type::keep:
      return "at least " + limit_text(about, about.least) + ", or forever";
    case Type::number:
    case Type::fraction:
    case Type::duration:
    case Type::size:
      return limit_text(about, about.least) + " to " + limit_text(about, about.most);
    case Type::rules:
      return "a list of {error: CLASS, then: retry | dead | pause}";
    case Type::secret:
      return "{file: /path}, {credential: name} or {env: NAME}";
    case Type::secrets:
      return "{file: /path}, {credential: name} or {env: NAME}, or a list of them";
    case Type::properties:
    case Type::plugin_settings:
      break;
  }
  return {};
}

std::string wanted_by(const Description& about) {
  switch (about.type) {
    case Type::text:
      return about.wanted.empty() ? "a text" : about.wanted;
    case Type::texts:
      return "a list such as [one, two]";
    case Type::flag:
      return "true or false";
    case Type::start:
      return base::joined(about.choices) + ", or a time such as 2024-01-31T12:00:00Z";
    case Type::choice:
      return about.choices.size() == 1 ? about.choices[0] + ", the only choice"
                                       : "one of " + base::joined(about.choices);
    case Type::keep:
      return "a duration (12h, 7d) of " + range_of(about);
    case Type::number:
      return "a whole number from " + range_of(about);
    case Type::fraction:
      return "a number from " + range_of(about);
    case Type::duration:
      return "a duration (250ms, 30s, 5m, 12h, 7d) from " + range_of(about);
    case Type::size:
      return "a size (512B, 64KiB, 8MiB) from " + range_of(about);
    case Type::rules:
      return "a list such as [{error: \"validation.*\", then: dead}]; then is retry, dead or pause";
    case Type::secret:
    case Type::secrets:
      return range_of(about);
    case Type::properties:
    case Type::plugin_settings:
      return "a map of names and values";
  }
  return {};
}

}  // namespace inboxd::config
