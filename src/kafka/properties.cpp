#include "kafka/properties.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kafka/property_check.hpp"
#include "kafka/token_file.hpp"

namespace inboxd::kafka {
namespace {

constexpr int first_sound_cooperative = 0x020a01ff;
constexpr int first_sound_consumer_protocol = 0x020f00ff;

using Pair = std::pair<const char*, const char*>;

/// Defaults that the user's properties may override.
constexpr std::array<Pair, 10> consumer_defaults{{
    {"client.id", "inboxd"},
    {"fetch.queue.backoff.ms", "5"},
    {"fetch.wait.max.ms", "500"},
    {"fetch.error.backoff.ms", "100"},
    {"fetch.max.bytes", "16777216"},
    {"socket.nagle.disable", "true"},
    {"reconnect.backoff.max.ms", "5000"},
    {"topic.metadata.refresh.interval.ms", "30000"},
    {"session.timeout.ms", "10000"},
    {"log.connection.close", "false"},
}};

/// The daemon's guarantees need these. The configuration refuses these names in kafka.properties.
constexpr std::array<Pair, 7> consumer_required{{
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"},
    {"check.crcs", "true"},
    {"isolation.level", "read_committed"},
    {"allow.auto.create.topics", "false"},
    {"enable.partition.eof", "true"},
}};

/// Kafka's own topics (config/topics.hpp), which no pattern may match.
constexpr const char* hidden_topics =
    "^__(consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)$";
constexpr const char* blacklist = "topic.blacklist";

/// The user's list and Kafka's own topics. In an expression, a comma is doubled.
std::string blacklist_of(const std::vector<std::string>& expressions) {
  std::string out;
  for (const std::string& expression : expressions) out += expression + ',';
  return out + hidden_topics;
}

/// With the newer group protocol the brokers set the session timeout, and the library refuses the property.
bool is_set_by_brokers(std::string_view name, const std::map<std::string, std::string>& properties) {
  const auto protocol = properties.find("group.protocol");
  return name == "session.timeout.ms" && protocol != properties.end() && protocol->second == "consumer";
}

/// The memory of a fetched record, at least.
constexpr std::size_t min_record = 1'024;

}  // namespace

bool set_property(const Conf& conf, const char* name, const std::string& value, std::string& problem) {
  if (is_token_property(name)) {
    const auto refusal = set_token_property(conf.get(), name, value);
    if (refusal) problem = std::string{"kafka.properties: "} + name + ": " + *refusal;
    return !refusal;
  }
  std::array<char, 512> error{};
  if (rd_kafka_conf_set(conf.get(), name, value.c_str(), error.data(), error.size()) == RD_KAFKA_CONF_OK) return true;
  problem = std::string{"kafka.properties: "} + name + ": " + error.data();
  return false;
}

base::Result<Conf> make_conf(const ClientSettings& settings) {
  Conf conf{rd_kafka_conf_new()};
  std::string problem;
  for (const auto& [name, value] : consumer_defaults) {
    if (is_set_by_brokers(name, settings.properties)) continue;
    if (!set_property(conf, name, value, problem)) return base::Problem{problem};
  }
  if (settings.queued_bytes > 0) {
    const auto kilobytes = std::to_string(std::max<std::size_t>(settings.queued_bytes / 1024, 1024));
    if (!set_property(conf, "queued.max.messages.kbytes", kilobytes, problem)) return base::Problem{problem};
  }
  if (settings.queued_events > 0) {
    // The library counts payloads only. A record takes about 0.5 KiB more, and with the headers of CloudEvents 0.7 KiB.
    auto events = static_cast<std::size_t>(settings.queued_events);
    if (settings.queued_bytes > 0) events = std::min(events, settings.queued_bytes / min_record);
    if (!set_property(conf, "queued.min.messages", std::to_string(events), problem)) return base::Problem{problem};
  }
  for (const auto& [name, value] : settings.properties) {
    if (is_for_producers(name)) continue;
    if (!set_property(conf, name.c_str(), value, problem)) return base::Problem{problem};
  }
  if (!set_property(conf, blacklist, blacklist_of(settings.hidden_topics), problem)) return base::Problem{problem};
  for (const auto& [name, value] : consumer_required) {
    if (!set_property(conf, name, value, problem)) return base::Problem{problem};
  }
  if (!set_property(conf, "bootstrap.servers", settings.brokers, problem)) return base::Problem{problem};
  if (!settings.group.empty() && !set_property(conf, "group.id", settings.group, problem)) {
    return base::Problem{problem};
  }
  if (!settings.instance_id.empty() && !set_property(conf, "group.instance.id", settings.instance_id, problem)) {
    return base::Problem{problem};
  }
  return conf;
}

base::Result<Client> make_consumer(Conf conf) {
  std::array<char, 512> error{};
  rd_kafka_t* const client = rd_kafka_new(RD_KAFKA_CONSUMER, conf.get(), error.data(), error.size());
  if (client == nullptr) return base::Problem{std::string{"the Kafka client cannot start: "} + error.data()};
  static_cast<void>(conf.release());  // the client owns it now
  start_tokens(client);
  return Client{client};
}

std::string library_version() { return rd_kafka_version_str(); }

int library_version_number() { return rd_kafka_version(); }

std::string assignment_problem(const std::map<std::string, std::string>& properties) {
  const auto contains = [&](const char* name, std::string_view what) {
    const auto found = properties.find(name);
    return found != properties.end() && found->second.find(what) != std::string::npos;
  };
  if (contains("partition.assignment.strategy", "cooperative") && library_version_number() < first_sound_cooperative) {
    return "cooperative-sticky assignment with manual commits needs librdkafka 2.10.1, this is " + library_version() +
           ": use range or roundrobin, or a newer library";
  }
  if (contains("group.protocol", "consumer") && library_version_number() < first_sound_consumer_protocol) {
    return "group.protocol: consumer needs librdkafka 2.15 and brokers 4.0, this is " + library_version() +
           ": use classic, or a newer library";
  }
  return {};
}

}  // namespace inboxd::kafka
