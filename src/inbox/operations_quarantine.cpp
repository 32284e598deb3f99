#include "inbox/operations_quarantine.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

QuarantinedEntry read_entry(RowReader row, bool whole) {
  QuarantinedEntry out;
  out.quarantine_id = row.int8();
  out.reason = row.text();
  out.detail = row.text();
  out.event_id = row.maybe_uuid();
  out.payload_size = row.int8();
  out.digest = row.int8();
  out.topic = row.text();
  out.partition = row.int4();
  out.offset = row.int8();
  out.key = row.maybe_bytes();
  out.kafka_timestamp = row.maybe_int8();
  out.received_at = row.int8();
  if (!whole) {
    out.key_is_cut = cut_key(out.key);
  } else {
    out.payload = row.maybe_bytes();
    out.headers = row.maybe_bytes();
  }
  return out;
}

std::vector<QuarantinedEntry> find(Connection& connection, const pqxx::params& parameters) {
  std::vector<QuarantinedEntry> out;
  for (const auto& row : look(connection, statements::op_quarantine_find, parameters)) {
    out.push_back(read_entry(RowReader{row}, true));
  }
  return out;
}

}  // namespace

std::vector<QuarantinedEntry> list_quarantined(Connection& connection, const QuarantineFilter& filter,
                                               std::int64_t limit) {
  auto topics = like_patterns(filter.topics);
  auto reasons = like_patterns(filter.reasons);
  const pqxx::params parameters{topics.finish(), reasons.finish(), filter.received.since, filter.received.until,
                                limit};
  std::vector<QuarantinedEntry> out;
  for (const auto& row : look(connection, statements::op_quarantine_list, parameters)) {
    out.push_back(read_entry(RowReader{row}, false));
  }
  return out;
}

std::vector<QuarantinedEntry> find_quarantined(Connection& connection, std::int64_t quarantine_id) {
  return find(connection, pqxx::params{quarantine_id, nullptr, nullptr, nullptr});
}

std::vector<QuarantinedEntry> find_quarantined(Connection& connection, const std::string& topic,
                                               std::int32_t partition, std::int64_t offset) {
  return find(connection, pqxx::params{nullptr, topic, partition, offset});
}

}  // namespace inboxd::inbox
