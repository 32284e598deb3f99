// `check`: brokers and topics.
#include <algorithm>
#include <set>

#include "config/suggest.hpp"
#include "config/topics.hpp"
#include "config/units.hpp"
#include "kafka/advertised.hpp"
#include "kafka/client_log.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"
#include "kafka/topic_retention.hpp"
#include "operations/broker_problem.hpp"
#include "operations/check.hpp"
#include "operations/check_shards.hpp"
#include "operations/kafka_files.hpp"

namespace inboxd::operations {
namespace {

using Kind = Finding::Kind;

/// A question that may end early, because the brokers refuse the client, is asked in steps of this length.
constexpr std::chrono::milliseconds step{500};
constexpr std::chrono::milliseconds connect_timeout{2'000};

Finding check_topic(const std::string& name, const std::vector<std::string>& topics,
                    const std::vector<kafka::TopicDescription>& described) {
  const std::string subject = "topic " + name;
  if (std::find(topics.begin(), topics.end(), name) == topics.end()) {
    return {Kind::problem, subject, "the brokers know no such topic; " + config::remedy_for_topic(name, topics)};
  }
  const auto found =
      std::find_if(described.begin(), described.end(), [&](const auto& one) { return one.name == name; });
  if (found == described.end()) {
    return {Kind::problem, subject,
            "the brokers list it but do not describe it; grant the user the right to describe it"};
  }
  return {Kind::good, subject, std::to_string(found->partitions) + " partitions"};
}

Finding check_pattern(const std::string& pattern, const config::Topics& configured,
                      const std::vector<std::string>& topics) {
  const std::string subject = "topics " + pattern;
  const config::Expression expression{pattern};
  const auto matching = std::count_if(topics.begin(), topics.end(), [&](const auto& topic) {
    return configured.find(topic) != nullptr && expression.matches(topic);  // not excluded
  });
  if (matching > 0) return {Kind::good, subject, "matches " + std::to_string(matching) + " topics now"};
  return {Kind::warning, subject, "matches no topic yet; a topic that appears later is read from its beginning"};
}

/// Warns about topics whose records can be read again after the ledger has forgotten their ids.
void check_ledger(const config::Settings& settings, rd_kafka_t* client, const std::vector<std::string>& topics,
                  std::chrono::milliseconds patience, FoundList& out) {
  const auto& ledger = settings.retention.ledger;
  if (!ledger) return;
  const config::Topics configured{config::kafka_topics(settings.topics)};
  std::vector<std::string> read;
  for (const std::string& topic : topics) {
    if (configured.find(topic) != nullptr) read.push_back(topic);
  }
  const auto retentions = kafka::topic_retentions(client, read, patience);
  if (!retentions) {
    out.push_back({Kind::warning, "retention.ledger",
                   "not compared with the topics' retention.ms: " + retentions.problem().message});
    return;
  }
  for (const auto& [topic, kept] : retentions.value()) {
    if (kept && *kept <= *ledger) continue;
    out.push_back({Kind::warning, "topic " + topic,
                   "retention.ledger (" + config::duration_text(*ledger) + ") is shorter than the time that Kafka " +
                       "keeps its records (" + (kept ? "retention.ms: " + config::duration_text(*kept) : "for ever") +
                       "): older records that are read again, or sent again, are stored as new events; raise "
                       "retention.ledger, or lower the topic's retention.ms"});
  }
}

/// A topic that the daemon publishes to, and the key of the file that names it.
struct Target {
  enum class Of { handler, dead_letters, outbox };
  std::string topic;
  std::string handler;
  Of of = Of::handler;
};

/// Topics of `kafka` handlers without placeholders and with our brokers, topics of dead letters, and topics that
/// outbox.topics names.
std::vector<Target> targets_of(const config::Settings& settings) {
  std::vector<Target> out;
  for (const std::string& topic : settings.outbox.topics) {
    if (settings.outbox.relay && !topic.ends_with('*')) out.push_back({topic, "", Target::Of::outbox});
  }
  for (const config::Handler& handler : settings.handlers) {
    if (!handler.dead_letter_topic.empty()) {
      out.push_back({handler.dead_letter_topic, handler.name, Target::Of::dead_letters});
    }
    const auto topic = handler.settings.find("topic");
    if (handler.plugin != "kafka" || topic == handler.settings.end()) continue;
    const auto own = handler.settings.find("properties");
    const bool has_brokers =
        own != handler.settings.end() && own->second.find("bootstrap.servers") != std::string::npos;
    if (has_brokers || topic->second.find('{') != std::string::npos) continue;
    out.push_back({topic->second, handler.name});
  }
  return out;
}

void check_targets(const config::Settings& settings, rd_kafka_t* client, const std::vector<std::string>& topics,
                   std::chrono::milliseconds patience, FoundList& out) {
  std::set<std::string> known;
  for (const Target& target : targets_of(settings)) {
    if (std::find(topics.begin(), topics.end(), target.topic) != topics.end()) {
      known.insert(target.topic);
    } else if (target.of == Target::Of::dead_letters) {
      out.push_back({Kind::problem, "topic " + target.topic,
                     "the brokers know no such topic, so dead letters of handler " + target.handler +
                         " would wait in the outbox: create it, or correct dead_letters.topic"});
    } else if (target.of == Target::Of::outbox) {
      out.push_back({Kind::warning, "topic " + target.topic,
                     "the brokers know no such topic, so messages for it would wait in the outbox: create it, or "
                     "correct outbox.topics"});
    } else {
      out.push_back({Kind::warning, "topic " + target.topic,
                     "the brokers know no such topic, to which handler " + target.handler +
                         " publishes: create it, unless the brokers do"});
    }
  }
  const auto minimums = kafka::topic_numbers(client, {known.begin(), known.end()}, "min.insync.replicas", patience);
  if (!minimums) return;  // the right to read configurations may be missing
  for (const auto& [topic, minimum] : minimums.value()) {
    if (minimum > 1) continue;
    out.push_back({Kind::warning, "topic " + topic,
                   "min.insync.replicas is 1, so a message that one broker has counts as published, and is lost with "
                   "that broker: set 2, with a replication factor of 3"});
  }
}

/// Advertised addresses that take no connection.
FoundList check_addresses(const std::vector<kafka::AdvertisedBroker>& brokers, std::chrono::milliseconds patience) {
  FoundList out;
  for (const kafka::AdvertisedBroker& broker : kafka::silent_brokers(brokers, patience)) {
    out.push_back({Kind::unreachable, "brokers",
                   "the cluster names its broker " + std::to_string(broker.id) + " as " + broker.host + ":" +
                       broker.port +
                       ", which is not reached: correct advertised.listeners of that broker, or open the network"});
  }
  return out;
}

/// A finding if the brokers do not answer. Ends early if they refuse the client.
std::optional<kafka::Cluster> ask_cluster(rd_kafka_t* client, const kafka::ClientLog& log,
                                          const config::Kafka& configured, std::chrono::milliseconds patience,
                                          FoundList& out) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto cluster = kafka::describe_cluster(client, std::min(step, patience));
    if (cluster) return std::move(cluster).value();
    Finding trouble = broker_problem(configured.brokers, configured.properties, log.last_warning());
    const bool is_over = std::chrono::steady_clock::now() >= end;
    if (!is_over && trouble.kind != Kind::refused) continue;
    if (trouble.kind == Kind::unreachable) {
      const std::string within = " within " + std::to_string(patience.count() / 1000) + " s";
      trouble.message.insert(std::string_view{"not reached"}.size(), within);
    }
    out.push_back(std::move(trouble));
    return std::nullopt;
  }
}

}  // namespace

FoundList check_brokers(const config::Settings& settings, std::chrono::milliseconds patience) {
  const auto& configured = settings.kafka;
  kafka::ClientSettings wanted;
  wanted.brokers = configured.brokers;
  wanted.properties = configured.properties;
  if (!settings.has_brokers()) return {};
  FoundList out = check_kafka_files(settings);
  if (!out.empty()) return out;
  auto conf = kafka::make_conf(wanted);
  if (!conf) {
    out.push_back({Kind::problem, "kafka.properties", conf.problem().message});
    return out;
  }
  kafka::ClientLog client_log;
  client_log.attach(conf.value().get());
  const auto made = kafka::make_consumer(std::move(conf).value());
  if (!made) {
    out.push_back({Kind::problem, "kafka.properties", made.problem().message});
    return out;
  }
  rd_kafka_t* const client = made.value().get();
  const auto cluster = ask_cluster(client, client_log, configured, patience, out);
  if (!cluster) return out;
  const auto& topics = cluster->topics;
  const std::string subject = "brokers " + configured.brokers;
  out.push_back({Kind::good, subject, std::to_string(topics.size()) + " topics"});
  if (const auto silent = check_addresses(cluster->brokers, std::min(patience, connect_timeout)); !silent.empty()) {
    out.insert(out.end(), silent.begin(), silent.end());
    return out;
  }
  std::vector<std::string> names;
  const auto read = config::kafka_topics(settings.topics);
  for (const auto& topic : read) {
    if (!topic.name.empty()) names.push_back(topic.name);
  }
  const auto described = kafka::describe_topics(client, names, patience);
  if (!described) {
    out.push_back({Kind::unreachable, subject, described.problem().message});
    return out;
  }
  const config::Topics all_topics{read};
  for (const auto& topic : read) {
    out.push_back(topic.name.empty() ? check_pattern(topic.pattern, all_topics, topics)
                                     : check_topic(topic.name, topics, described.value()));
  }
  check_shared_topics(settings, client, topics, patience, out);
  check_targets(settings, client, topics, patience, out);
  check_ledger(settings, client, topics, patience, out);
  return out;
}

}  // namespace inboxd::operations
