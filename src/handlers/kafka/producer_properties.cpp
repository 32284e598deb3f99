#include "producer_properties.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "settings.hpp"

namespace kafka_handler {
namespace {

using inboxd::SettingsError;
using nlohmann::json;

struct Pair {
  const char* name;
  const char* value;
};

/// The properties may override these.
constexpr std::array defaults{
    Pair{"client.id", "inboxd"},
    Pair{"linger.ms", "1"},
    Pair{"partitioner", "murmur2_random"},  // as Kafka's Java clients: a key has the same partition, whoever writes
    Pair{"topic.metadata.propagation.max.ms", "5000"},
    Pair{"queue.buffering.max.messages", "100000"},
    Pair{"queue.buffering.max.kbytes", "65536"},
    Pair{"socket.nagle.disable", "true"},
    Pair{"reconnect.backoff.max.ms", "5000"},
    Pair{"log.connection.close", "false"},
};

/// `message.timeout.ms` 0: the end of the call withdraws records, all of a partition at once. If a record timed out by
/// itself, a later record of its key could pass it.
constexpr std::array required{
    Pair{"enable.idempotence", "true"},
    Pair{"acks", "all"},
    Pair{"message.timeout.ms", "0"},
};

constexpr const char* loads_code = "it makes the daemon load or run code";
constexpr const char* by_events = "the handler chooses the events that it gets from librdkafka";

constexpr std::array refused{
    Pair{"transactional.id",
         "an event is recorded as done in PostgreSQL, which is no part of a Kafka transaction; records are written at "
         "least once, and header inboxd-event-id tells repetitions"},
    Pair{"enable.idempotence", "the order of a key depends on it; it is always true"},
    Pair{"acks", "an event is done once all in-sync replicas have it; it is always all"},
    Pair{"request.required.acks", "an event is done once all in-sync replicas have it; it is always all"},
    Pair{"message.timeout.ms", "the deadline of the call limits it; set `deadline` of the handler"},
    Pair{"delivery.timeout.ms", "the deadline of the call limits it; set `deadline` of the handler"},
    Pair{"message.send.max.retries", "the deadline of the call limits retries; set `deadline` of the handler"},
    Pair{"retries", "the deadline of the call limits retries; set `deadline` of the handler"},
    Pair{"plugin.library.paths", loads_code},
    Pair{"interceptors", loads_code},
    Pair{"sasl.kerberos.kinit.cmd", loads_code},
    Pair{"ssl.engine.location", loads_code},
    Pair{"ssl.engine.id", loads_code},
    Pair{"ssl.providers", loads_code},
    Pair{"enabled_events", by_events},
    Pair{"log.queue", by_events},
    Pair{"delivery.report.only.error", by_events},
    Pair{"internal.termination.signal", "the daemon handles signals itself"},
};

void check_name(const std::string& name) {
  constexpr std::string_view scope = "topic.";  // librdkafka accepts topic properties with and without it
  const std::string bare = name.rfind(scope, 0) == 0 ? name.substr(scope.size()) : name;
  for (const Pair& row : refused) {
    if (bare == row.name) throw SettingsError{"setting 'properties': " + name + " may not be set: " + row.value};
  }
  if (bare.rfind("test.", 0) == 0) {
    throw SettingsError{"setting 'properties': " + name + " may not be set: it is a test hook of librdkafka"};
  }
}

void check_value(const std::string& name, const std::string& value) {
  constexpr double max_linger = 5;
  double number = 0;
  const bool is_linger = name == "linger.ms" || name == "queue.buffering.max.ms";
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (is_linger && (error != std::errc{} || number < 0 || number > max_linger)) {
    throw SettingsError{"setting 'properties': " + name + " must be 0 to 5, because each call waits for it"};
  }
  const bool is_command = name == "sasl.kerberos.principal" || name == "sasl.kerberos.keytab";
  if (is_command && value.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.@:-") !=
                        std::string::npos) {
    throw SettingsError{"setting 'properties': librdkafka puts " + name +
                        " into a shell command (kinit); use only letters, digits and / _ . @ : -"};
  }
}

Properties map_of(const inboxd::Settings& settings, const std::string& name) {
  Properties out;
  const json map = json::parse(settings.text(name, table.text("properties")), nullptr, false);
  if (!map.is_object()) {
    throw SettingsError{"setting '" + name + "' must be a map of librdkafka's properties, such as {linger.ms: 2}"};
  }
  for (const auto& [key, value] : map.items()) {
    if (value.is_structured() || value.is_null()) {
      throw SettingsError{"setting '" + name + "': " + key + " must be one value"};
    }
    out[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return out;
}

}  // namespace

ProducerProperties properties_of(const inboxd::Settings& settings) {
  const Properties theirs = map_of(settings, "properties");
  const Properties daemons = map_of(settings, "connection");
  for (const auto& [name, value] : theirs) {
    check_name(name);
    check_value(name, value);
  }
  ProducerProperties out;
  out.is_own_cluster = theirs.count("bootstrap.servers") > 0 || theirs.count("metadata.broker.list") > 0;
  for (const Pair& each : defaults) out.all[each.name] = each.value;
  if (!out.is_own_cluster) {
    for (const auto& [name, value] : daemons) out.all[name] = value;
  }
  for (const auto& [name, value] : theirs) {
    // Two names of a property: the default must not win by its place in the alphabet.
    if (name == "queue.buffering.max.ms") out.all.erase("linger.ms");
    out.all[name] = value;
  }
  for (const Pair& each : required) out.all[each.name] = each.value;
  if (!out.is_own_cluster && out.all.count("bootstrap.servers") == 0) {
    throw SettingsError{"setting 'properties' has no bootstrap.servers; add the brokers to write to"};
  }
  return out;
}

}  // namespace kafka_handler
