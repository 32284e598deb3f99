#include "cli/connector_remedies.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "config/kafka_properties.hpp"
#include "kafka/property_check.hpp"

namespace inboxd::cli {
namespace {

/// The remedy for settings of a name, or of all names that begin so if it ends with a dot.
struct Row {
  std::string_view name;
  const char* remedy;
  bool is_needed = true;
};

constexpr bool harmless = false;

template <std::size_t size>
std::optional<Remedy> find(const std::array<Row, size>& rows, std::string_view key) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.name.ends_with('.') ? key.starts_with(row.name) : key == row.name;
  });
  return found == rows.end() ? std::nullopt : std::optional{Remedy{found->remedy, found->is_needed}};
}

constexpr std::array settings{
    Row{"tasks.max", "instances share the partitions, each with handlers[].concurrency calls", harmless},
    Row{"tasks.max.enforce", "inboxd has no tasks", harmless},
    Row{"dialect.name", "inboxd writes to PostgreSQL", harmless},
    Row{"auto.create", "make the table yourself, see the statement's comment"},
    Row{"auto.evolve", "add columns to the table and to the statement yourself"},
    Row{"schema.evolution", "add columns to the table and to the statement yourself"},
    Row{"errors.retry.", "use handlers[].retry"},
    Row{"errors.log.", "`inboxd dead list` and the log have every failure, without payloads", harmless},
    Row{"errors.deadletterqueue.topic.replication.factor", "create the topic yourself"},
    Row{"errors.deadletterqueue.context.headers.enable", "dead letters always have these headers", harmless},
    Row{"connection.attempts", "inboxd connects again by itself", harmless},
    Row{"connection.backoff.ms", "inboxd connects again by itself", harmless},
    Row{"connection.restart.on.errors", "inboxd connects again by itself", harmless},
    Row{"connection.pool.", "use database.connections"},
    Row{"connection.", "a parameter of the driver: write libpq's counterpart, if any, into database.url"},
    Row{"date.timezone", "days have no time zone in the records; config/coming-from-jdbc-sink.md has SQL for others"},
    Row{"field.", "write the columns that you want into the statement"},
    Row{"value.converter.", "see config/formats.md for a registry's login and certificates"},
    Row{"header.converter", "the statement sees headers as a jsonb object of texts", harmless},
    Row{"table.types", "the statement has its table", harmless},
    Row{"trim.sensitive.log", "logs have no values", harmless},
    Row{"use.reduction.buffer", "the last event of a primary key in a call counts", harmless},
    Row{"config.action.reload", "secrets in files are read again by themselves", harmless},
    Row{"truncate.enabled", "inboxd does not truncate; events of a truncation are passed over"},
};

/// Properties of Kafka's Java consumer that librdkafka lacks.
constexpr std::array java_properties{
    Row{"max.poll.records", "ingest.batch_events bounds a transaction", harmless},
    Row{"default.api.timeout.ms", "inboxd waits for brokers by itself", harmless},
    Row{"exclude.internal.topics", "patterns never match Kafka's own topics", harmless},
    Row{"key.deserializer", "inboxd reads bytes", harmless},
    Row{"value.deserializer", "inboxd reads bytes", harmless},
    Row{"metric.reporters", "the admin port has metrics", harmless},
    Row{"metrics.", "the admin port has metrics", harmless},
    Row{"interceptor.classes", "inboxd runs no interceptors"},
    Row{"fetch.max.wait.ms", "write it into kafka.properties, as fetch.wait.max.ms"},
    Row{"receive.buffer.bytes", "write it into kafka.properties, as socket.receive.buffer.bytes"},
    Row{"send.buffer.bytes", "write it into kafka.properties, as socket.send.buffer.bytes"},
    Row{"request.timeout.ms", "write it into kafka.properties, as socket.timeout.ms"},
    Row{"ssl.", "write librdkafka's counterpart into kafka.properties; see config/security.md"},
    Row{"sasl.", "write librdkafka's counterpart into kafka.properties; see config/security.md"},
};

/// A property of the connector's consumer. Advises no name that a configuration may not have.
Remedy remedy_for_property(const std::string& name) {
  if (const auto refusal = config::refusal_of_kafka_property(name)) {
    const std::string why = refusal->substr(refusal->find(": ") + 2);
    return {why, why.starts_with("use ")};
  }
  if (kafka::knows_property(name)) return {"write it into kafka.properties"};
  if (auto known = find(java_properties, name)) return *std::move(known);
  return {"librdkafka has no such property; see its CONFIGURATION.md for a counterpart, if you need one"};
}

}  // namespace

Remedy remedy_for_setting(std::string_view key) {
  constexpr std::string_view consumer = "consumer.override.";
  if (key.starts_with(consumer)) return remedy_for_property(std::string{key.substr(consumer.size())});
  return find(settings, key).value_or(Remedy{"inboxd has no such setting; see config/coming-from-jdbc-sink.md"});
}

}  // namespace inboxd::cli
