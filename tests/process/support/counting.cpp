#include "process/support/counting.hpp"

#include <stdexcept>

namespace inboxd::support {
namespace {

std::string text_of(const std::map<int, std::int64_t>& offsets) {
  std::string out;
  for (const auto& [partition, offset] : offsets) {
    out += (out.empty() ? "" : " ") + std::to_string(partition) + ":" + std::to_string(offset);
  }
  return out;
}

}  // namespace

Scene::Scene(int partitions) : topic{kafka.create_topic(partitions)}, config{database, kafka} {
  config.topics = {"{name: " + topic + "}"};
  config.handlers = {HandlerText{.topics = {topic}, .settings = {{"file", recording.file()}}}};
}

Scene::Scene(int partitions, const std::string& url, const std::string& direct)
    : database{direct}, topic{kafka.create_topic(partitions)}, config{database, kafka} {
  config.url = url;
  config.topics = {"{name: " + topic + "}"};
  config.handlers = {HandlerText{.topics = {topic}, .settings = {{"file", recording.file()}}}};
}

std::string text_of(const Counts& counts) {
  return "events " + std::to_string(counts.events) + ", ledger " + std::to_string(counts.ledger) + ", quarantined " +
         std::to_string(counts.quarantined) + ", owed " + std::to_string(counts.owed) + ", settled " +
         std::to_string(counts.settled) + ", different ones settled " + std::to_string(counts.settled_once);
}

Counts count(Session& session, const std::string& handler) {
  const auto row = session.rows(
      "select (select count(*) from inbox.event), (select count(*) from inbox.ledger),"
      " (select count(*) from inbox.quarantine),"
      " (select coalesce(sum(d.events), 0) from inbox.delivery d join inbox.handler h using (handler_id)"
      "  where h.name = $1), count(*), count(distinct (o.shard_id, at))"
      " from inbox.outcome o join inbox.handler h using (handler_id), unnest(o.offsets) r,"
      " generate_series(lower(r), upper(r) - 1) at where h.name = $1",
      {handler}).at(0);
  const auto number = [&](std::size_t column) { return std::stoll(row.at(column).value()); };
  return {number(0), number(1), number(2), number(3), number(4), number(5)};
}

void expect_settled(Session& session, std::int64_t events, const std::string& handler, milliseconds within) {
  const Counts wanted{events, events, 0, 0, events, events};
  Counts found;
  std::string trouble;
  wait_until(
      "all is settled once",
      [&] {
        try {
          found = count(session, handler);
          trouble.clear();
        } catch (const std::runtime_error& error) {
          trouble = error.what();  // the server may be away
          return false;
        }
        if (found.settled > found.settled_once) throw std::runtime_error{"settled twice: " + text_of(found)};
        return found.settled >= events && found.owed == 0;
      },
      within, [&] { return "wanted " + std::to_string(events) + ", there are " + text_of(found) + trouble; });
  if (found != wanted) throw std::runtime_error{"wanted " + text_of(wanted) + "; there are " + text_of(found)};
}

std::map<int, std::int64_t> positions(Session& session, const std::string& topic) {
  std::map<int, std::int64_t> out;
  const auto rows = session.rows(
      "select distinct on (s.partition) s.partition, p.next_offset"
      " from inbox.shard s join inbox.position p using (shard_id) where s.topic = $1"
      " order by s.partition, s.ordinal desc, p.epoch desc, p.first_offset desc",
      {topic});
  for (const auto& row : rows) out[std::stoi(row.at(0).value())] = std::stoll(row.at(1).value());
  return out;
}

std::int64_t sum(const std::map<int, std::int64_t>& offsets) {
  std::int64_t out = 0;
  for (const auto& [partition, offset] : offsets) out += offset;
  return out;
}

void expect_group_behind(Kafka& kafka, Session& session, const std::string& group, const std::string& topic) {
  const auto committed = kafka.committed(group, topic);  // first, because both only rise
  const auto stored = positions(session, topic);
  for (const auto& [partition, offset] : committed) {
    const auto found = stored.find(partition);
    if (found == stored.end() || found->second < offset) {
      throw std::runtime_error{"the group is ahead of the database: " + text_of(committed) + " > " + text_of(stored)};
    }
  }
}

void wait_for_end(Scene& scene, milliseconds within) {
  const auto ends = scene.kafka.ends(scene.topic);
  std::map<int, std::int64_t> stored;
  std::map<int, std::int64_t> committed;
  wait_until(
      "the inbox and the group are at the end of the topic",
      [&] {
        stored = positions(scene.database.session(), scene.topic);
        committed = scene.kafka.committed(scene.config.group, scene.topic);
        for (const auto& [partition, offset] : ends) {
          if (stored[partition] != offset || (offset > 0 && committed[partition] != offset)) return false;
        }
        return true;
      },
      within,
      [&] { return "ends " + text_of(ends) + ", stored " + text_of(stored) + ", group " + text_of(committed); });
}

}  // namespace inboxd::support
