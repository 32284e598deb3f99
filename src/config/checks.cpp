#include "config/checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "base/text.hpp"
#include "config/expression.hpp"
#include "config/internal_topics.hpp"
#include "config/retry.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

/// Says a sentence at the first of the keys that the file has, unless one of them was wrong by itself.
void complain(Reading& reading, std::initializer_list<std::string> keys, const std::string& sentence) {
  for (const std::string& key : keys) {
    if (reading.mentioned.is_spoilt(key)) return;
  }
  for (const std::string& key : keys) {
    if (reading.mentioned.has(key)) return reading.problem(reading.mentioned.nearest(key), key, sentence);
  }
  reading.problem(reading.mentioned.nearest(*keys.begin()), *keys.begin(), sentence);
}

std::string item_key(const char* list, std::size_t index) {
  return std::string{list} + "[" + std::to_string(index) + "]";
}

void check_database(const Settings& settings, Reading& reading) {
  if (settings.database.schema.starts_with("pg_") || settings.database.schema == "information_schema") {
    complain(reading, {"database.schema"},
             "'" + settings.database.schema + "' belongs to PostgreSQL; choose another name");
  }
  const int others = settings.other_connections();
  const int least = settings.ingest.connections + others;
  if (settings.database.connections < least) {
    complain(reading, {"database.connections", "ingest.connections"},
             "ingest.connections (" + std::to_string(settings.ingest.connections) + ") and " +
                 std::to_string(others) + " more must fit into database.connections (" +
                 std::to_string(settings.database.connections) + "); make it at least " + std::to_string(least));
  }
  const Retention& retention = settings.retention;
  if (retention.ledger && (!retention.events || *retention.events > *retention.ledger)) {
    reading.findings.warning(reading.mentioned.nearest("retention.ledger"), "retention.ledger",
                             "ids are forgotten sooner than events are removed (retention.events): later the events "
                             "are not found by their id, and the same event sent again is a new one");
  }
}

bool is_on_this_machine(const std::string& listen) {
  return listen.starts_with("127.") || listen.starts_with("localhost:") || listen.starts_with("[::1]:");
}

void check_admin(const Admin& admin, Reading& reading) {
  if (admin.listen == "off") return;
  const int port = std::atoi(admin.listen.c_str() + admin.listen.rfind(':') + 1);
  if (port < 1 || port > 65'535) complain(reading, {"admin.listen"}, "the port must be from 1 to 65535");
  if (!is_on_this_machine(admin.listen) && admin.token.empty() && !reading.mentioned.has("admin.token")) {
    reading.findings.warning(reading.mentioned.nearest("admin.listen"), "admin.listen",
                             "other machines reach this port, and without admin.token they are answered health checks "
                             "only");
  }
}

void check_tracing(const Tracing& tracing, Reading& reading) {
  const std::string& said = tracing.authorization.reveal();
  const bool is_a_line = std::all_of(said.begin(), said.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!is_a_line) {
    complain(reading, {"tracing.authorization"}, "a header is one line of printable ASCII, such as Bearer TOKEN");
  }
  if (!said.empty() && tracing.is_off()) {
    complain(reading, {"tracing.authorization"}, "nobody is told it without tracing.endpoint; set that, or remove it");
  }
}

void check_custom(const Topic& topic, const std::string& key, Reading& reading) {
  const CustomRules& custom = topic.custom;
  if (topic.envelope == EnvelopeKind::custom) {
    if (custom.id.empty()) {
      complain(reading, {key + ".custom.id", key + ".envelope"},
               "envelope: custom needs it; write where the id is: header:NAME, json:/pointer or key");
    }
  } else if (custom != CustomRules{}) {
    complain(reading, {key + ".custom", key + ".envelope"},
             "these rules are used with envelope: custom only; write that, or remove them");
  }
}

void check_topic(const Settings& settings, std::size_t index, Reading& reading) {
  const Topic& topic = settings.topics[index];
  const std::string key = item_key("topics", index);
  if (reading.mentioned.is_spoilt(key)) return;
  const std::string named = key + (topic.pattern.empty() ? ".name" : ".pattern");
  if (topic.name.empty() == topic.pattern.empty()) {
    complain(reading, {key + ".name", key + ".pattern"},
             topic.name.empty() ? "a topic needs a name or a pattern" : "a topic has a name or a pattern, not both");
  }
  if (const auto reason = topic.pattern.empty() ? std::nullopt : Expression{topic.pattern}.problem()) {
    complain(reading, {named}, "the pattern is no POSIX extended regular expression: " + *reason);
  }
  if (topic.name == "." || topic.name == "..") complain(reading, {named}, "Kafka allows no topic of this name");
  if (is_internal_topic(topic.name)) {
    complain(reading, {named},
             "Kafka keeps records of its own in this topic; that they are read is noted there again, without end");
  }
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    const Topic& other = settings.topics[earlier];
    const std::string& text = topic.name.empty() ? topic.pattern : topic.name;
    if (!text.empty() && topic.name == other.name && topic.pattern == other.pattern) {
      complain(reading, {named}, "'" + text + "' is " + item_key("topics", earlier) + " already; keep one of them");
    }
  }
  check_custom(topic, key, reading);
}

/// Names and aliases share one space: each must lead to one handler.
void check_names(const Settings& settings, Reading& reading) {
  std::map<std::string, std::string> taken;
  const auto take = [&](const std::string& name, const std::string& key) {
    if (name.empty()) return;
    const auto [first, is_new] = taken.emplace(name, key);
    if (is_new) return;
    complain(reading, {key}, "'" + name + "' is taken by " + first->second + "; handlers need different names");
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

/// What a pattern reads is known to the brokers alone.
bool may_be_read(const std::string& wanted, const Topic& topic) {
  if (topic.name.empty()) return true;
  return wanted.ends_with('*') ? topic.name.starts_with(wanted.substr(0, wanted.size() - 1)) : topic.name == wanted;
}

void check_subscription(const Settings& settings, std::size_t index, Reading& reading) {
  const Texts& topics = settings.handlers[index].topics;
  for (std::size_t i = 0; i < topics.size(); ++i) {
    bool is_read = settings.topics.empty();
    for (const Topic& topic : settings.topics) is_read = is_read || may_be_read(topics[i], topic);
    const std::string key = item_key("handlers", index) + ".subscribe.topics[" + std::to_string(i) + "]";
    if (!is_read) {
      reading.findings.warning(reading.mentioned.nearest(key), key,
                               "this file reads no topic '" + base::shorten(topics[i], 60) +
                                   "'; only another instance's file can give the handler its events");
    }
  }
}

void check_handler(const Settings& settings, std::size_t index, Reading& reading) {
  const Handler& handler = settings.handlers[index];
  const std::string key = item_key("handlers", index);
  if (handler.retry.cap < handler.retry.base) {
    complain(reading, {key + ".retry.cap", key + ".retry.base"},
             "the longest delay, retry.cap (" + duration_text(handler.retry.cap) +
                 "), is shorter than the first, retry.base (" + duration_text(handler.retry.base) + ")");
  }
  const auto& keep = settings.retention.failures;
  if (const auto span = longest_span(handler.retry); keep && span > *keep) {
    reading.findings.warning(reading.mentioned.nearest("retention.failures"), "retention.failures",
                             "the reasons of attempts are removed sooner than handler " + handler.name +
                                 " gives up (its retries may take " +
                                 duration_text(std::chrono::ceil<std::chrono::hours>(span)) +
                                 "): its dead letters lack those of the first attempts");
  }
  check_subscription(settings, index, reading);
}

}  // namespace

void check_together(const Settings& settings, Reading& reading) {
  check_database(settings, reading);
  check_admin(settings.admin, reading);
  check_tracing(settings.tracing, reading);
  for (std::size_t i = 0; i < settings.topics.size(); ++i) check_topic(settings, i, reading);
  check_names(settings, reading);
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) check_handler(settings, i, reading);
}

}  // namespace inboxd::config
