#include "process/support/daemon_fixture.hpp"

#include <stdexcept>
#include <string>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

std::string uuid_of(const std::string& run, std::size_t number) {
  std::string digits(12, '0');
  const std::string text = std::to_string(number);
  digits.replace(12 - text.size(), text.size(), text);
  return run.substr(0, 8) + "-0000-4000-8000-" + digits;
}

std::string array_of(const std::vector<std::string>& ids) {
  std::string out;
  for (const std::string& id : ids) out += (out.empty() ? "" : ",") + id;
  return "{" + out + "}";
}

}  // namespace

std::string EventCounts::text() const {
  return std::to_string(produced) + " produced, " + std::to_string(lost) + " lost, " + std::to_string(doubled) +
         " doubled, " + std::to_string(done) + " done, " + std::to_string(done_twice) + " done twice, " +
         std::to_string(pending) + " pending, " + std::to_string(dead) + " dead, " + std::to_string(calls) +
         " calls of the handler" + where;
}

DaemonFixture::DaemonFixture(int partitions, const std::string& database_url)
    : database{database_url.empty() ? needed("INBOXD_TEST_PG") : database_url},
      topic{kafka.create_topic(partitions)},
      config{database, kafka} {
  config.topics.push_back("{name: " + topic + "}");
  HandlerText handler;
  handler.settings["file"] = recording.file();
  config.handlers.push_back(handler);
}

void DaemonFixture::set(const std::string& name, const std::string& value) {
  for (HandlerText& handler : config.handlers) handler.settings[name] = value;
}

std::unique_ptr<DaemonProcess> DaemonFixture::start() {
  auto daemon = std::make_unique<DaemonProcess>(config);
  daemon->wait_ready();
  return daemon;
}

void DaemonFixture::migrate() {
  const auto finished = command(config, {"migrate"});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"migrate failed: " + finished.err};
}

std::vector<std::string> DaemonFixture::produce(int count, const std::string& type) {
  return produce_through(kafka, count, type);
}

std::vector<std::string> DaemonFixture::produce_through(Kafka& brokers, int count, const std::string& type) {
  const std::string run = random_name("").substr(1);
  std::vector<Message> messages;
  std::vector<std::string> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(uuid_of(run, ids_.size()));
    ids_.push_back(made.back());
    messages.push_back(event_message(topic, made.back(), "{\"n\": " + std::to_string(i) + "}", type));
  }
  brokers.produce(messages);
  return made;
}

void DaemonFixture::note(const std::vector<std::string>& ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

EventCounts DaemonFixture::counts(const std::string& handler) {
  EventCounts out;
  out.produced = static_cast<std::int64_t>(ids_.size());
  out.lost = database.number(
      "select count(*) from unnest($1::uuid[]) id where not exists (select from inbox.event e "
      "where e.event_id = id) and not exists (select from inbox.quarantine q where q.event_id = id "
      "or convert_from(q.key, 'UTF8') = id::text)",
      {array_of(ids_)});
  if (out.lost > 0) out.where = describe_missing();
  out.doubled = database.number("select count(*) - count(distinct event_id) from inbox.event");
  const auto done = database.rows(
      "select coalesce(sum(inbox.count_of(offsets)), 0), coalesce((select sum(n) from (select "
      "inbox.count_of(range_agg(r)) "
      "as n from inbox.outcome x join inbox.handler y using (handler_id), unnest(x.offsets) r where y.name = $1 and "
      "x.outcome = 'done' group by shard_id) z), 0) from inbox.outcome o join inbox.handler h using (handler_id) "
      "where h.name = $1 and o.outcome = 'done'",
      {handler});
  out.done = std::stoll(*done[0][1]);
  out.done_twice = std::stoll(*done[0][0]) - out.done;
  out.pending = database.number(
      "select coalesce(sum(events), 0) from inbox.delivery join inbox.handler using "
      "(handler_id) where name = $1",
      {handler});
  out.dead = database.number("select count(*) from inbox.dead_letters where handler = $1", {handler});
  for (const auto& [id, calls] : recording.calls_by_event(handler)) out.calls += calls;
  return out;
}

std::string DaemonFixture::describe_missing() {
  std::string out = "; missing: " + database.text(
                                        "select coalesce(string_agg(id::text, ' '), 'none by now') from "
                                        "(select id from unnest($1::uuid[]) id except select event_id from inbox.event "
                                        "order by 1 limit 5) m",
                                        {array_of(ids_)});
  for (const auto& row : database.rows(
           "select format('; %s/%s at %s of %s: %s events, offsets %s to %s, quarantined %s', l.topic, l.partition, "
           "l.position, l.high_watermark, count(e), min(e.\"offset\"), max(e.\"offset\"), (select count(*) from "
           "inbox.quarantined q where (q.topic, q.partition) = (l.topic, l.partition))) from inbox.lag l left join "
           "inbox.events e using (topic, partition) group by l.topic, l.partition, l.position, l.high_watermark")) {
    out += row[0].value_or("");
  }
  return out;
}

EventCounts DaemonFixture::wait_done(const std::string& handler, milliseconds within) {
  wait_until(
      "all " + std::to_string(ids_.size()) + " events are done",
      [&] {
        const auto done = database.number(
            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome join "
            "inbox.handler using (handler_id) where name = $1 and outcome = 'done'",
            {handler});
        return done >= static_cast<std::int64_t>(ids_.size());
      },
      within, [&] { return counts(handler).text(); });
  return counts(handler);
}

void DaemonFixture::wait_stored(std::int64_t events, milliseconds within) {
  database.wait_for(std::to_string(events) + " events are stored", "select count(*) from inbox.event", events, within);
}

std::int64_t DaemonFixture::offsets_ahead() {
  std::int64_t ahead = 0;
  for (const auto& [partition, offset] : kafka.committed(config.group, topic)) {
    if (offset > position(partition)) ++ahead;
  }
  return ahead;
}

std::int64_t DaemonFixture::position(int partition) {
  return database.number("select position from inbox.lag where topic = $1 and partition = $2",
                         {topic, std::to_string(partition)});
}

}  // namespace inboxd::support
