#include "config/kafka_properties.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"

namespace inboxd::config {
namespace {

constexpr std::string_view loads_code = "it makes the daemon load or run code";
constexpr std::string_view is_test_hook = "it is a test hook of librdkafka that replaces real brokers";
constexpr std::string_view needs_pointer = "it takes a pointer, which a configuration cannot hold";
constexpr std::string_view owns_offsets = "the daemon commits an offset only after the database has the event";
constexpr std::string_view owns_start = "the daemon starts at the positions in the database; use topics[].start";
constexpr std::string_view owns_reading = "the daemon's promises about lost and aborted records depend on it";
constexpr std::string_view owns_sending = "the order and the safe delivery of the outbox depend on it";
constexpr std::string_view owns_events = "the daemon chooses the events it gets from librdkafka";

struct Refused {
  std::string_view name;
  std::string_view why;
};

constexpr std::array refused{
    Refused{"plugin.library.paths", loads_code},
    Refused{"interceptors", loads_code},
    Refused{"sasl.kerberos.kinit.cmd", loads_code},
    Refused{"ssl.engine.location", loads_code},
    Refused{"ssl.engine.id", loads_code},
    Refused{"ssl.providers", loads_code},
    Refused{"bootstrap.servers", "use kafka.brokers"},
    Refused{"metadata.broker.list", "use kafka.brokers"},
    Refused{"group.id", "use kafka.group"},
    Refused{"group.instance.id", "use kafka.instance_id"},
    Refused{"enable.auto.commit", owns_offsets},
    Refused{"auto.commit.enable", owns_offsets},
    Refused{"auto.commit.interval.ms", owns_offsets},
    Refused{"enable.auto.offset.store", owns_offsets},
    Refused{"offset.store.method", owns_offsets},
    Refused{"offset.store.path", owns_offsets},
    Refused{"offset.store.sync.interval.ms", owns_offsets},
    Refused{"auto.offset.reset", owns_start},
    Refused{"blacklist", "use topics[].exclude"},  // topic.blacklist
    Refused{"isolation.level", owns_reading},
    Refused{"check.crcs", owns_reading},
    Refused{"enable.partition.eof", owns_reading},
    Refused{"acks", owns_sending},
    Refused{"request.required.acks", owns_sending},
    Refused{"enable.idempotence", owns_sending},
    Refused{"enable.gapless.guarantee", owns_sending},
    Refused{"message.timeout.ms", owns_sending},
    Refused{"delivery.timeout.ms", owns_sending},
    Refused{"transactional.id", owns_sending},
    Refused{"transaction.timeout.ms", owns_sending},
    Refused{"retries", owns_sending},
    Refused{"message.send.max.retries", owns_sending},
    Refused{"delivery.report.only.error", owns_sending},
    Refused{"produce.offset.report", owns_sending},
    Refused{"max.in.flight.requests.per.connection", owns_sending},
    Refused{"max.in.flight", owns_sending},
    Refused{"message.max.bytes", "use outbox.message_bytes"},
    Refused{"queue.buffering.max.messages", "use outbox.in_flight_messages"},
    Refused{"queue.buffering.max.kbytes", "use outbox.in_flight_bytes"},
    Refused{"consume.callback.max.messages", owns_reading},
    Refused{"allow.auto.create.topics", "the daemon never creates topics"},
    Refused{"enabled_events", owns_events},
    Refused{"log.queue", owns_events},
    Refused{"queued.max.messages.kbytes", "use ingest.queued_bytes"},
    Refused{"queued.min.messages", "use ingest.queued_events"},
    Refused{"internal.termination.signal", "the daemon handles signals itself"},
    Refused{"opaque", needs_pointer},
    Refused{"default_topic_conf", needs_pointer},
    Refused{"ssl_key", needs_pointer},
    Refused{"ssl_certificate", needs_pointer},
    Refused{"ssl_ca", needs_pointer},
    Refused{"ssl_engine_callback_data", needs_pointer},
    Refused{"msg_order_cmp", needs_pointer},
};

std::string sentence(std::string_view why) { return "this property may not be set: " + std::string{why}; }

}  // namespace

std::optional<std::string> refusal_of_kafka_property(std::string_view name) {
  constexpr std::string_view scope = "topic.";  // librdkafka accepts topic properties with and without it
  std::string lower = base::lower(name);
  if (lower.starts_with(scope)) lower.erase(0, scope.size());
  for (const Refused& row : refused) {
    if (row.name == lower) return sentence(row.why);
  }
  if (lower.starts_with("test.")) return sentence(is_test_hook);
  if (lower.ends_with("_cb")) return sentence(needs_pointer);
  return std::nullopt;
}

std::optional<std::string> refusal_of_kafka_value(std::string_view name, std::string_view value) {
  const std::string lower = base::lower(name);
  if (lower != "sasl.kerberos.principal" && lower != "sasl.kerberos.keytab") return std::nullopt;
  const bool is_plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"/_.@:-"}.find(c) != std::string_view::npos;
  });
  if (is_plain) return std::nullopt;
  return "librdkafka puts it into a shell command (kinit); use only letters, digits and / _ . @ : -";
}

namespace {

std::string protocol_of(const std::map<std::string, std::string>& properties) {
  const auto found = properties.find("security.protocol");
  return found == properties.end() ? "plaintext" : base::lower(found->second);
}

}  // namespace

std::optional<std::string> missing_mechanism(const std::map<std::string, std::string>& properties) {
  if (!protocol_of(properties).starts_with("sasl_")) return std::nullopt;
  const auto has_mechanism = [&](auto accepts) {
    return std::any_of(properties.begin(), properties.end(), [&](const auto& each) {
      return (each.first == "sasl.mechanism" || each.first == "sasl.mechanisms") && accepts(each.second);
    });
  };
  if (properties.contains("sasl.oauthbearer.token.file") &&
      !has_mechanism([](const std::string& text) { return base::lower(text) == "oauthbearer"; })) {
    return "a token needs its mechanism; set sasl.mechanism to OAUTHBEARER";
  }
  const bool has_login = properties.contains("sasl.username") || properties.contains("sasl.password");
  if (!has_login || has_mechanism([](const std::string&) { return true; })) return std::nullopt;
  return "a user and a password need a mechanism, and librdkafka's default is Kerberos; set sasl.mechanism to PLAIN, "
         "SCRAM-SHA-256 or SCRAM-SHA-512";
}

std::optional<WithoutEffect> property_without_effect(const std::map<std::string, std::string>& properties) {
  const std::string protocol = protocol_of(properties);
  for (const auto& [name, value] : properties) {
    if (name.starts_with("sasl.") && !protocol.starts_with("sasl_")) {
      return WithoutEffect{name, "set security.protocol to sasl_ssl or sasl_plaintext"};
    }
    if (name.starts_with("ssl.") && !protocol.ends_with("ssl")) {
      return WithoutEffect{name, "set security.protocol to ssl or sasl_ssl"};
    }
  }
  return std::nullopt;
}

}  // namespace inboxd::config
