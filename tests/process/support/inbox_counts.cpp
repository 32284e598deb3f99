#include "process/support/inbox_counts.hpp"

#include <stdexcept>

namespace inboxd::support {

std::string text_of(const std::map<int, std::int64_t>& offsets) {
  std::string out;
  for (const auto& [partition, offset] : offsets) {
    out += (out.empty() ? "" : " ") + std::to_string(partition) + ":" + std::to_string(offset);
  }
  return out;
}

std::string text_of(const InboxCounts& counts) {
  return "events " + std::to_string(counts.events) + ", ledger " + std::to_string(counts.ledger) + ", quarantined " +
         std::to_string(counts.quarantined) + ", pending " + std::to_string(counts.pending) + ", settled " +
         std::to_string(counts.settled) + ", distinct settled " + std::to_string(counts.settled_distinct);
}

InboxCounts count(Session& session, const std::string& handler) {
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
  const InboxCounts wanted{events, events, 0, 0, events, events};
  InboxCounts found;
  std::string failure;
  wait_until(
      "each event is settled once",
      [&] {
        try {
          found = count(session, handler);
          failure.clear();
        } catch (const std::runtime_error& error) {
          failure = error.what();  // the server may be down
          return false;
        }
        if (found.settled > found.settled_distinct) throw std::runtime_error{"settled twice: " + text_of(found)};
        return found.settled >= events && found.pending == 0;
      },
      within, [&] { return "wanted " + std::to_string(events) + ", there are " + text_of(found) + failure; });
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
  const auto committed = kafka.committed(group, topic);  // read first: both only grow
  const auto stored = positions(session, topic);
  for (const auto& [partition, offset] : committed) {
    const auto found = stored.find(partition);
    if (found == stored.end() || found->second < offset) {
      throw std::runtime_error{"the group is ahead of the database: " + text_of(committed) + " > " + text_of(stored)};
    }
  }
}

}  // namespace inboxd::support
