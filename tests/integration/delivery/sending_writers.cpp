// The writers of the outbox: handlers that publish, the relay, operators.
#include "integration/delivery/writers.hpp"

namespace inboxd::support::writers {
namespace {

namespace statements = inbox::statements;

/// Two messages of a place, in descending order: `first` is 1 (to be sent) or 11 (waiting).
std::string messages(int place, int first) {
  const int number = 100 * place + first;
  return "{" + std::to_string(number + 1) + "," + std::to_string(number) + "}";
}
std::string uuids(int place, int first) {
  const std::string start = "{0a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + 100 * place + first + 1);
  return start + ",0a000000-0000-4000-8000-" + std::to_string(100'000'000'000 + 100 * place + first) + "}";
}

}  // namespace

std::string State::reset_messages(const std::string& lease) const {
  const std::string columns = "outbox_id, message_id, topic, key, payload, headers, published_at";
  std::string out =
      "delete from inbox.outbox; delete from inbox.outbox_waiting; delete from inbox.outbox_lane; "
      "update inbox.relay set owner = '" + owner_ + "', fence = 7, leased_until = " + lease + ";";
  for (const int place : {0, 1}) {
    const std::string topic = "'topic" + std::to_string(place) + "'";
    const std::string lane = "inbox.outbox_lane_of(" + topic + ", 'stopped')";
    const auto values = [&](int number, const std::string& key) {
      const std::string id = std::to_string(100 * place + number);
      return "(" + id + ", ('0a000000-0000-4000-8000-' || 100000000000 + " + id + ")::uuid, " + topic + ", '" + key +
             "'::bytea, 'x'::bytea, null, now()";
    };
    out += "insert into inbox.outbox (" + columns + ") overriding system value values " + values(2, "key") + "), " +
           values(1, "key") + ");";
    out += "insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, failed_id, due_at) "
           "values (" + lane + ", " + topic + ", 'stopped', false, 'no', 1, " + std::to_string(100 * place + 11) +
           ", now());";
    out += "insert into inbox.outbox_waiting (" + columns + ", lane, alone) values " + values(12, "stopped") + ", " +
           lane + ", false), " + values(11, "stopped") + ", " + lane + ", true);";
  }
  return out;
}

std::vector<Writer> State::sending() {
  const auto done = [this](int place) {
    return Step{statements::relay_done.sql,
                {owner_, "7", messages(place, 1), uuids(place, 1), messages(place, 11), uuids(place, 11)}};
  };
  const auto set_aside = [this](int place, int first, const std::string& kinds) {
    return Step{statements::relay_set_aside.sql, {owner_, "7", messages(place, first), "{no,no}", kinds, "{100,100}"}};
  };
  const auto publish = [](int place) {
    return Step{"select inbox.publish('topic" + std::to_string(place) + "', 'stopped'::bytea, 'x'::bytea)"};
  };
  const auto operate = [](const inbox::Statement& statement) {
    return [&statement](int place) {
      return Steps{{statement.sql, {messages(place, 11), "test", "a test"}}};
    };
  };
  std::vector<Writer> out{
      {"publish", [=](int place) { return Steps{publish(place)}; }},
      {"publish_batch",
       [](int /*place*/) {
         return Steps{{"select inbox.publish_batch('{topic0,topic1}', array['key', 'key']::bytea[], array['x', "
                       "'x']::bytea[], array[null, null]::bytea[], array[null, null]::uuid[])"}};
       }},
      {"relay_take",
       [this](int /*place*/) { return Steps{{statements::relay_take.sql, {other_, "8", "1000", "1000000"}}}; },
       false, false, true},
      {"relay_renew",
       [this](int /*place*/) { return Steps{{statements::relay_renew.sql, {owner_, "7", "1000", "0", "true"}}}; }},
      {"relay_release",
       [this](int /*place*/) { return Steps{{statements::relay_release.sql, {owner_, "7", "0"}}}; }},
      {"relay_done", [=](int place) { return Steps{done(place)}; }},
      {"relay_due",
       [this](int /*place*/) {
         return Steps{{statements::relay_due.sql, {owner_, "7", "100", "1000000", "{}"}}};
       }},
      {"relay_set_aside, a refused one and one behind it",
       [=](int place) { return Steps{set_aside(place, 1, "{0,1}")}; }},
      {"relay_set_aside, a whole topic", [=](int place) { return Steps{set_aside(place, 1, "{3,2}")}; }},
      {"relay_set_aside, refused again", [=](int place) { return Steps{set_aside(place, 11, "{0,1}")}; }},
      {"outbox retry", operate(statements::op_outbox_retry)},
      {"outbox skip", operate(statements::op_outbox_skip)},
      {"events forget, of messages that wait",
       [](int /*place*/) { return Steps{{"select inbox.forget_messages('test', 'stopped', 100)"}}; }},
      {"events forget, of messages to be sent",
       [](int /*place*/) { return Steps{{"select inbox.forget_messages('test', 'key', 100)"}}; }},
  };
  for (Writer& writer : out) {
    writer.of_events = false;
    writer.of_messages = true;
  }
  Writer both{"settle_done behind publish", [=, this](int place) {
                return Steps{publish(place),
                             {statements::settle_done.sql,
                              {owner_, "{" + std::to_string(100 * place + 1) + "}", "{11}", "{\"{[0,3)}\"}"}}};
              }};
  both.of_messages = true;
  out.push_back(both);
  return out;
}

}  // namespace inboxd::support::writers
