#include "operations/stored_event.hpp"

#include "base/text.hpp"
#include "operations/row_columns.hpp"
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

Document summary_of(const StoredEvent& event) {
  Document out = event.document;
  out.erase("payload");
  out.erase("headers");
  out.erase("decoded");
  return out;
}

Content read_content(const pqxx::row& row) { return {bytes_in(row["payload"]), bytes_in(row["headers"])}; }

StoredEvent read_stored_event(const pqxx::row& row, Extent extent) {
  using MaybeTime = std::optional<event::Microseconds>;
  StoredEvent out{row["shard_id"].as<std::int32_t>(),
                  row["offset"].as<std::int64_t>(),
                  base::parse_uuid(row["event_id"].view()).value_or(base::Uuid{}),
                  row["occurred_at"].as<MaybeTime>(),
                  row["kafka_timestamp"].as<MaybeTime>(),
                  row["received_at"].as<event::Microseconds>(),
                  read_row(row, columns::event_summary, extent),
                  {}};
  if (extent == Extent::list) return out;
  out.content = read_content(row);
  if (const auto decoded = bytes_in(row["decoded"])) out.document["decoded"] = *decoded;
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
