#include "config/checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "base/network.hpp"
#include "base/text.hpp"
#include "base/this_machine.hpp"
#include "config/checks_http.hpp"
#include "config/cron.hpp"
#include "config/kafka_properties.hpp"
#include "config/reserved_words.hpp"
#include "config/shared_topics.hpp"
#include "config/suggest.hpp"
#include "config/todo_mark.hpp"
#include "config/topics.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

void check_database(const Settings& settings, Reading& reading) {
  const std::string& schema = settings.database.schema;
  if (schema.starts_with("pg_") || schema == "information_schema" || is_reserved_word(schema)) {
    complain(reading, {"database.schema"}, "'" + schema + "' is reserved by PostgreSQL; choose another name");
  }
  const int others = settings.other_connections();
  const int least = settings.ingest_connections() + others;
  if (settings.database.connections < least) {
    complain(reading, {"database.connections", "ingest.connections"},
             "ingest.connections (" + std::to_string(settings.ingest_connections()) + ") and " +
                 std::to_string(others) + " more exceed database.connections (" +
                 std::to_string(settings.database.connections) + "); raise it to at least " + std::to_string(least));
  }
  const Retention& retention = settings.retention;
  if (retention.ledger && (!retention.events || *retention.events > *retention.ledger)) {
    reading.findings.warning(reading.mentioned.nearest("retention.ledger"), "retention.ledger",
                             "shorter than retention.events: an event older than this is not found by its id, and a "
                             "resend is stored as a new event");
  }
}

void check_kafka(const Kafka& kafka, Reading& reading) {
  const std::string key = "kafka.properties";
  const auto protocol = kafka.properties.find("group.protocol");
  if (!kafka.instance_id.empty() && protocol != kafka.properties.end() && protocol->second == "consumer") {
    complain(reading, {"kafka.instance_id", key + ".group.protocol"},
             "not with group.protocol: consumer, where the brokers refuse a restarted process until the session of the "
             "process before has ended; remove this key");
  }
  if (const auto problem = missing_mechanism(kafka.properties)) {
    complain(reading, {key + ".sasl.oauthbearer.token.file", key + ".sasl.username", key + ".sasl.password"}, *problem);
  }
  if (const auto found = property_without_effect(kafka.properties)) {
    const std::string place = key + "." + found->name;
    reading.findings.warning(reading.mentioned.nearest(place), place,
                             "no effect with this security.protocol; " + found->remedy);
  }
}

bool has_own_brokers(const Handler& handler) {
  const auto own = handler.settings.find("properties");
  return own != handler.settings.end() && own->second.find("bootstrap.servers") != std::string::npos;
}

/// The parts that publish need brokers, also where all topics are local.
void check_without_brokers(const Settings& settings, Reading& reading) {
  if (settings.has_brokers()) return;
  if (settings.outbox.relay) {
    complain(reading, {"outbox.relay"},
             "the relay sends messages to kafka.brokers; configure kafka, or remove this key");
  }
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    const Handler& handler = settings.handlers[i];
    const std::string key = item_key("handlers", i);
    if (!handler.dead_letter_topic.empty()) {
      complain(reading, {key + ".dead_letters.topic"},
               "dead letters are published to kafka.brokers; configure kafka, or remove this key");
    }
    if (handler.plugin == "kafka" && !has_own_brokers(handler)) {
      complain(reading, {key + ".plugin"},
               "publishes to kafka.brokers; configure kafka, or set bootstrap.servers in settings.properties");
    }
  }
}

bool has_admin_token(const Reading& reading) {
  return reading.mentioned.has("admin.token") || reading.mentioned.has("admin.read_token");
}

void check_tokens(const Admin& admin, Reading& reading) {
  const auto check_word = [&](const char* key, const Secret& token) {
    if (is_word(token.reveal())) return;
    complain(reading, {key}, "a token must be printable ASCII without spaces; choose another");
  };
  check_word("admin.token", admin.token);
  check_word("admin.read_token", admin.read_token);
  if (!admin.token.empty() && admin.token == admin.read_token) {
    complain(reading, {"admin.read_token", "admin.token"},
             "equals admin.token, so that readers could make changes; use another token");
  }
  if (admin.read == AdminRead::token && !has_admin_token(reading)) {
    complain(reading, {"admin.read"},
             "every read needs a token, but none is configured; set admin.read_token or admin.token, or use loopback");
  }
}

void check_admin(const Admin& admin, Reading& reading) {
  if (admin.actor_header.name.empty() != admin.actor_header.from.empty()) {
    complain(reading, {"admin.actor_header.name", "admin.actor_header.from"},
             "the header and its proxy's addresses belong together; set both, or none");
  }
  for (const std::string& from : admin.actor_header.from) {
    if (base::Network::parse(from)) continue;
    complain(reading, {"admin.actor_header.from"},
             "\"" + from + "\" is neither an address nor a network; write 10.0.0.7, 10.0.0.0/8 or fd00::/8");
  }
  check_tokens(admin, reading);
  check_port("admin", admin.listen, admin.tls, reading);
  if (admin.listen == "off") return;
  if (!base::is_on_this_machine(base::host_of(admin.listen)) && !has_admin_token(reading)) {
    reading.findings.warning(reading.mentioned.nearest("admin.listen"), "admin.listen",
                             "other machines get only health checks from this port; set admin.read_token or "
                             "admin.token");
  }
}

void check_tracing(const Tracing& tracing, Reading& reading) {
  const std::string& said = tracing.authorization.reveal();
  const bool is_a_line = std::all_of(said.begin(), said.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!is_a_line) {
    complain(reading, {"tracing.authorization"}, "must be one line of printable ASCII, such as Bearer TOKEN");
  }
  if (!said.empty() && tracing.is_off()) {
    complain(reading, {"tracing.authorization"}, "no effect without tracing.endpoint; set that, or remove this key");
  }
}

void check_custom(const Topic& topic, const std::string& key, Reading& reading) {
  const CustomRules& custom = topic.custom;
  if (topic.envelope == EnvelopeKind::custom) {
    if (custom.id.empty()) {
      complain(reading, {key + ".custom.id", key + ".envelope"},
               "envelope: custom requires custom.id; set it to header:NAME, json:/pointer or key");
    }
    if (topic.strict) {
      complain(reading, {key + ".strict", key + ".envelope"},
               "no effect with envelope: custom, whose rules require nothing but the id; remove this key");
    }
  } else if (custom != CustomRules{}) {
    complain(reading, {key + ".custom", key + ".envelope"},
             "no effect without envelope: custom; set that, or remove these rules");
  }
}

void check_registry(const Registry& registry, const std::string& key, Reading& reading) {
  const bool has_password = reading.mentioned.has(key + ".password");  // offline its text is empty
  if (registry.user.empty() == has_password) {
    complain(reading, {key + ".user", key + ".password"}, "a user and a password belong together; set both or neither");
  }
  if (!registry.user.empty() && reading.mentioned.has(key + ".token")) {
    complain(reading, {key + ".token", key + ".user"}, "set a token, or a user with a password, not both");
  }
  if (registry.certificate.empty() != registry.key.empty()) {
    complain(reading, {key + ".tls.certificate", key + ".tls.key"},
             "a certificate and its key belong together; set both or neither");
  }
  const bool has_files = !registry.ca.empty() || !registry.certificate.empty();
  if (has_files && !registry.url.starts_with("https:")) {
    complain(reading, {key + ".tls", key + ".url"}, "no effect without an https:// address in registry.url");
  }
}

void check_schema(const Format& format, const std::string& key, Reading& reading) {
  const bool has_file = !format.schema_file.empty(), has_registry = !format.registry.url.empty();
  if (has_file == has_registry) {
    complain(reading, {key + ".registry.url", key + ".schema_file", key + ".format"},
             has_file ? "set registry.url or schema_file, not both"
                      : "this format requires registry.url, the address of the schema registry, or schema_file");
  }
  if (format.kind == FormatKind::protobuf && has_file == format.message.empty()) {
    complain(reading, {key + ".message", key + ".schema_file"},
             "for Protobuf, schema_file and message belong together; set both or neither");
  }
  if (format.kind == FormatKind::protobuf && format.schema_id == SchemaIdForm::apicurio) {
    complain(reading, {key + ".schema_id"},
             "Protobuf of Apicurio's serializer is read by schema_file, with the schema's id in headers "
             "(apicurio.registry.headers.enabled: true); remove this key");
  }
}

void check_format(const Format& format, const std::string& key, Reading& reading) {
  const bool has_schema = format.kind == FormatKind::avro || format.kind == FormatKind::protobuf;
  if (has_schema) check_schema(format, key, reading);
  Format unused = format;  // the keys of other formats
  if (has_schema || format.kind == FormatKind::json_schema) unused.schema_id = {};
  const bool makes_json = format.kind != FormatKind::automatic && format.kind != FormatKind::json;
  if (makes_json) unused.max_decoded = Format{}.max_decoded;
  if (has_schema) unused = {};
  if (format.kind == FormatKind::avro) unused.message = format.message;
  unused.kind = FormatKind::automatic;
  if (unused != Format{}) {
    complain(reading, {key, key + ".format"},
             "a key here has no effect with this format; remove it, or set the format");
  }
  check_registry(format.registry, key + ".registry", reading);
}

void check_retention(const Settings& settings, const std::string& key, const Topic& topic, Reading& reading) {
  const auto& events = settings.retention.events;
  if (!topic.retention || !events || *topic.retention <= *events) return;
  complain(reading, {key + ".retention", "retention.events"},
           "is longer than retention.events (" + duration_text(*events) + "), which drops whole days of all topics; "
           "raise that, or shorten this key");
}

/// The client hides excluded topics altogether, so no entry can name such a topic.
void check_exclude(const Settings& settings, std::size_t index, const std::string& key, Reading& reading) {
  const Texts& entries = settings.topics[index].exclude;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = key + ".exclude[" + std::to_string(i) + "]";
    const Expression excluded{excluding_expression(entries[i])};
    if (const auto reason = excluded.problem()) {
      complain(reading, {place}, "not a POSIX extended regular expression: " + *reason);
      continue;
    }
    if (entries[i].find(',') != std::string::npos) {  // separates the expressions in the client's list
      complain(reading, {place}, "no comma is possible here; write alternatives, such as (a|aa) for a{1,2}");
      continue;
    }
    for (std::size_t j = 0; j < settings.topics.size(); ++j) {
      const std::string& name = settings.topics[j].name;
      if (name.empty() || settings.topics[j].source == Source::local || !excluded.matches(name)) continue;
      complain(reading, {place},
               "excludes '" + name + "', which is " + item_key("topics", j) + "; remove one of the two");
    }
  }
}

/// Keys about records of Kafka; some of them hold for events over HTTP, too.
void check_local(const Settings& settings, const Topic& topic, const std::string& key, Reading& reading) {
  if (!topic.pattern.empty()) {
    complain(reading, {key + ".pattern"}, "a local topic has a name; set name, or remove source: local");
  }
  const bool has_http = reading.mentioned.has(key + ".http");
  for (const char* name : {".exclude", ".start", ".tombstones", ".key"}) {
    if (reading.mentioned.has(key + name)) {
      complain(reading, {key + name}, "no effect with source: local; remove this key");
    }
  }
  for (const char* name : {".envelope", ".custom", ".on_missing_id", ".deliver_at", ".strict", ".value"}) {
    if (!has_http && reading.mentioned.has(key + name)) {
      complain(reading, {key + name}, "no effect with source: local, unless it has http; remove this key");
    }
  }
  if (!has_http) return;
  check_topic_http(settings, topic, key, reading);
  check_format(topic.value, key + ".value", reading);
  check_custom(topic, key, reading);
}

void check_topic(const Settings& settings, std::size_t index, Reading& reading) {
  const Topic& topic = settings.topics[index];
  const std::string key = item_key("topics", index);
  if (reading.mentioned.is_spoilt(key)) return;
  const std::string named = key + (topic.pattern.empty() ? ".name" : ".pattern");
  if (topic.name.empty() == topic.pattern.empty()) {
    complain(reading, {key + ".name", key + ".pattern"},
             topic.name.empty() ? "set a name or a pattern" : "set a name or a pattern, not both");
  }
  if (const auto reason = topic.pattern.empty() ? std::nullopt : Expression{topic.pattern}.problem()) {
    complain(reading, {named}, "not a POSIX extended regular expression: " + *reason);
  }
  if (topic.name == "." || topic.name == "..") {
    complain(reading, {named}, "Kafka allows no topic with this name; correct it");
  }
  if (is_internal_topic(topic.name)) {
    complain(reading, {named},
             "an internal topic of Kafka, where each read may add another record; remove it");
  }
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    const Topic& other = settings.topics[earlier];
    const std::string& text = topic.name.empty() ? topic.pattern : topic.name;
    if (!text.empty() && topic.name == other.name && topic.pattern == other.pattern) {
      complain(reading, {named}, "'" + text + "' is " + item_key("topics", earlier) + " already; remove one");
    }
  }
  if (topic.source == Source::local) {
    check_local(settings, topic, key, reading);
  } else {
    if (reading.mentioned.has(key + ".http")) {
      complain(reading, {key + ".http"}, "events over HTTP need source: local; set it, or remove this key");
    }
    check_exclude(settings, index, key, reading);
    check_custom(topic, key, reading);
    check_format(topic.value, key + ".value", reading);
    check_format(topic.key, key + ".key", reading);
  }
  check_retention(settings, key, topic, reading);
}

/// Names and aliases share a name space: each must identify a single handler.
void check_names(const Settings& settings, Reading& reading) {
  std::map<std::string, std::string> taken;
  const auto take = [&](const std::string& name, const std::string& key) {
    if (name.empty()) return;
    const auto [first, is_new] = taken.emplace(name, key);
    if (is_new) return;
    complain(reading, {key}, "'" + name + "' is taken by " + first->second + "; choose another name");
  };
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    take(settings.handlers[i].name, item_key("handlers", i) + ".name");
  }
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    const Texts& aliases = settings.handlers[i].aliases;
    for (std::size_t j = 0; j < aliases.size(); ++j) {
      take(aliases[j], item_key("handlers", i) + ".aliases[" + std::to_string(j) + "]");
    }
  }
}

bool is_subscribed(const std::string& wanted, const std::string& topic) {
  return wanted.ends_with('*') ? topic.starts_with(wanted.substr(0, wanted.size() - 1)) : topic == wanted;
}

/// Only the brokers know the topics of a pattern.
bool may_be_read(const std::string& wanted, const Topic& topic) {
  return topic.name.empty() || is_subscribed(wanted, topic.name);
}

void check_subscription(const Settings& settings, std::size_t index, Reading& reading) {
  const Texts& topics = settings.handlers[index].topics;
  Texts read;
  for (const Topic& topic : settings.topics) {
    if (!topic.name.empty()) read.push_back(topic.name);
  }
  for (std::size_t i = 0; i < topics.size(); ++i) {
    bool is_read = settings.topics.empty();
    for (const Topic& topic : settings.topics) is_read = is_read || may_be_read(topics[i], topic);
    const std::string key = item_key("handlers", index) + ".subscribe.topics[" + std::to_string(i) + "]";
    if (is_read) continue;
    const std::string near = did_you_mean(topics[i], read);
    reading.findings.warning(
        reading.mentioned.nearest(key), key,
        "this file reads no topic '" + base::shorten(topics[i], 60) + "'" +
            (near.empty() ? "; add it to topics, unless another instance reads it" : near));
  }
}

bool is_excluded(const std::vector<Topic>& topics, const std::string& name) {
  return std::any_of(topics.begin(), topics.end(), [&](const Topic& topic) {
    return std::any_of(topic.exclude.begin(), topic.exclude.end(), [&](const std::string& entry) {
      return Expression{excluding_expression(entry)}.matches(name);
    });
  });
}

bool is_read(const std::vector<Topic>& topics, const std::string& name) {
  return !is_excluded(topics, name) && std::any_of(topics.begin(), topics.end(), [&](const Topic& topic) {
    return topic.pattern.empty() ? topic.name == name : Expression{topic.pattern}.matches(name);
  });
}

/// A handler that reads its own dead letters would fail on them without end. Another instance may read a topic that
/// the subscription names, but this file does not.
void check_dead_letter_topic(const Settings& settings, std::size_t index, Reading& reading) {
  const Handler& handler = settings.handlers[index];
  const std::string& topic = handler.dead_letter_topic;
  const Texts& wanted = handler.topics;
  const bool is_wanted =
      wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                    [&](const std::string& text) { return is_subscribed(text, topic); });
  const bool is_named = std::find(wanted.begin(), wanted.end(), topic) != wanted.end();
  if (topic.empty() || !is_wanted || !(is_named || is_read(settings.topics, topic))) return;
  complain(reading, {item_key("handlers", index) + ".dead_letters.topic"},
           "handler " + handler.name + " reads '" + base::shorten(topic, 60) +
               "' itself, so each of its dead letters would be a new event for it, without end; set another topic, "
               "or " +
               (wanted.empty() ? "set subscribe.topics without this one" : "remove it from subscribe.topics"));
}

/// Windows of mode batch, and keys that have no effect in it.
void check_batch(const Settings& settings, std::size_t index, Reading& reading) {
  const Handler& handler = settings.handlers[index];
  const Batch& batch = handler.batch;
  const std::string key = item_key("handlers", index);
  if (handler.mode != Mode::batch) {
    if (batch == Batch{} || !reading.mentioned.has(key + ".batch")) return;
    return complain(reading, {key + ".batch"}, "no effect without mode: batch; set that, or remove this key");
  }
  for (const char* name : {".events_per_call", ".group"}) {
    if (!reading.mentioned.has(key + name)) continue;
    complain(reading, {key + name}, "no effect with mode: batch; set batch.max_events, or remove this key");
  }
  if (batch.every.count() > 0 && batch.every < milliseconds{100}) {
    complain(reading, {key + ".batch.every"}, "is shorter than 100ms; raise it");
  }
  const bool has_every = batch.every.count() > 0, has_cron = batch.cron != "off";
  if (has_every == has_cron) {
    complain(reading, {key + ".batch.every", key + ".batch.cron", key + ".mode"},
             has_every ? "set batch.every or batch.cron, not both"
                       : "mode: batch requires batch.every or batch.cron; add for example 'batch: {every: 10s}'");
  }
  if (has_cron) {
    const auto cron = Cron::parse(batch.cron, batch.time_zone);
    const bool is_zone = !cron && cron.problem().code == "time_zone";
    if (!cron) complain(reading, {key + (is_zone ? ".batch.time_zone" : ".batch.cron")}, cron.problem().message);
  } else if (reading.mentioned.has(key + ".batch.time_zone")) {
    complain(reading, {key + ".batch.time_zone"}, "no effect without batch.cron; remove this key");
  }
  if (batch.at_least == 1 && reading.mentioned.has(key + ".batch.max_wait")) {
    complain(reading, {key + ".batch.max_wait"}, "no effect without batch.at_least; set that, or remove this key");
  }
  if (batch.max_events > settings.dispatch.in_hand_events) {
    complain(reading, {key + ".batch.max_events", key + ".mode"},
             "batch.max_events (" + std::to_string(batch.max_events) + ") exceeds dispatch.in_hand_events (" +
                 std::to_string(settings.dispatch.in_hand_events) + "); raise that");
  }
}

/// Keys of mode sequential without it, and an order that cannot hold.
void check_order(const Settings& settings, std::size_t index, Reading& reading) {
  const Handler& handler = settings.handlers[index];
  const std::string key = item_key("handlers", index);
  if (handler.mode != Mode::sequential) {
    const Handler defaults;
    const auto refuse = [&](const char* name, bool is_default) {
      if (is_default) return;
      complain(reading, {key + name}, "no effect without mode: sequential; set that, or remove this key");
    };
    refuse(".order_by", handler.order_by == defaults.order_by);
    refuse(".order_scope", handler.order_scope == defaults.order_scope);
    refuse(".missing_key", handler.missing_key == defaults.missing_key);
    refuse(".on_failure", handler.on_failure == defaults.on_failure);
    return;
  }
  if (handler.order_by.empty()) {
    complain(reading, {key + ".order_by"}, "is empty; set it to key, subject, header:NAME or json:/pointer");
  }
  if (handler.order_by != "key" && handler.order_scope == OrderScope::partition &&
      reading.mentioned.has(key + ".order_scope")) {
    complain(reading, {key + ".order_scope"},
             "order_by: " + handler.order_by +
                 " may arrive on several partitions; set order_scope: handler, or remove it");
  }
  const bool is_one_topic = handler.topics.size() == 1 && !handler.topics[0].ends_with('*');
  const auto is_pattern = [](const Topic& topic) { return !topic.pattern.empty(); };
  const bool may_be_several =
      settings.topics.size() > 1 || std::any_of(settings.topics.begin(), settings.topics.end(), is_pattern);
  if (order_scope_of(handler) == OrderScope::partition && !is_one_topic && may_be_several) {
    reading.findings.warning(reading.mentioned.nearest(key + ".subscribe"), key + ".subscribe.topics",
                             "handler " + handler.name +
                                 " keeps order within each topic, not between topics; if that matters, set "
                                 "order_scope: handler");
  }
}

void check_handler(const Settings& settings, std::size_t index, Reading& reading) {
  const Handler& handler = settings.handlers[index];
  const std::string key = item_key("handlers", index);
  if (handler.retry.cap < handler.retry.base) {
    complain(reading, {key + ".retry.cap", key + ".retry.base"},
             "retry.cap (" + duration_text(handler.retry.cap) + ") is shorter than retry.base (" +
                 duration_text(handler.retry.base) +
                 "); raise retry.cap, or remove it");
  }
  const auto& keep = settings.retention.failures;
  if (const auto span = max_span(handler.retry); keep && span > *keep) {
    reading.findings.warning(reading.mentioned.nearest("retention.failures"), "retention.failures",
                             "shorter than the retries of handler " + handler.name + ", which may take " +
                                 duration_text(std::chrono::ceil<std::chrono::hours>(span)) +
                                 ": its dead letters lose the reasons of the first attempts");
  }
  check_subscription(settings, index, reading);
  check_dead_letter_topic(settings, index, reading);
  check_order(settings, index, reading);
  check_batch(settings, index, reading);
}

}  // namespace

void check_together(const Settings& settings, Reading& reading) {
  check_database(settings, reading);
  check_kafka(settings.kafka, reading);
  check_without_brokers(settings, reading);
  check_shard(settings, reading);
  check_admin(settings.admin, reading);
  check_tracing(settings.tracing, reading);
  check_ingest_port(settings, reading);
  check_todo_marks(settings, reading);
  for (std::size_t i = 0; i < settings.topics.size(); ++i) check_topic(settings, i, reading);
  check_names(settings, reading);
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) check_handler(settings, i, reading);
}

}  // namespace inboxd::config
