#include "operations/stored_event.hpp"

#include "base/text.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

pqxx::bytes like_patterns(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const bool is_prefix = name.ends_with('*');
    std::string pattern;
    for (const char c : is_prefix ? name.substr(0, name.size() - 1) : name) {
      if (c == '\\' || c == '%' || c == '_') pattern += '\\';
      pattern += c;
    }
    if (is_prefix) pattern += '%';
    out.push_back(std::move(pattern));
  }
  return array_parameter(out);
}

pqxx::params bytes_parameter(const std::optional<std::string>& bytes) {
  if (!bytes) return pqxx::params{nullptr};
  return pqxx::params{pqxx::bytes{pqxx::binary_cast(*bytes)}};
}

bool cut_key(std::optional<std::string>& key) {
  if (!key || key->size() <= shown_key) return false;
  const std::string text = base::shorten(*key, shown_key);
  key = base::is_utf8(text) ? text : key->substr(0, shown_key);
  return true;
}

StoredEvent read_stored_event(inbox::RowReader& row, bool with_payload) {
  StoredEvent out;
  out.shard_id = row.int4();
  out.topic = row.text();
  out.partition = row.int4();
  out.offset = row.int8();
  out.event_id = row.uuid();
  out.source_id = row.maybe_text();
  out.event_type = row.text();
  out.source = row.maybe_text();
  out.subject = row.maybe_text();
  out.key = row.maybe_bytes();
  out.payload_size = row.maybe_int8();
  out.occurred_at = row.maybe_int8();
  out.kafka_timestamp = row.maybe_int8();
  out.received_at = row.int8();
  if (!with_payload) {
    out.key_is_cut = cut_key(out.key);
  } else {
    out.payload = row.maybe_bytes();
    out.headers = row.maybe_bytes();
  }
  return out;
}

std::vector<PickedRow> read_picked(inbox::Connection& connection, const inbox::Statement& statement,
                                   const pqxx::params& parameters) {
  return read_all(connection, statement, parameters, [](auto row) { return PickedRow{row.int8(), row.text()}; });
}

void write_audit(inbox::Connection& connection, const std::string& actor, const std::string& operation,
                 const std::string& target) {
  connection.access().run(inbox::statements::op_audit, pqxx::params{actor, operation, target});
}

}  // namespace inboxd::operations
