#include "inbox/operations.hpp"

#include <libpq-fe.h>

#include "base/text.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

pqxx::result look(Connection& connection, const Statement& statement, const pqxx::params& parameters) {
  auto& access = connection.access();
  access.open();
  if (!access.compiles_statements) return access.run(statement, parameters, Connection::Access::Effect::reads);
  pqxx::result out;
  try {
    access.transaction([&](pqxx::work& tx) {
      access.run_in(tx, statements::op_no_jit, pqxx::params{});
      out = access.run_in(tx, statement, parameters);
      return false;  // there is nothing to commit
    });
  } catch (const DatabaseError& error) {
    if (error.failure().fault != Fault::in_doubt) throw;
    auto failure = error.failure();
    failure.fault = Fault::reconnect;  // nothing was written that could be in doubt
    throw DatabaseError{std::move(failure)};
  }
  return out;
}

ArrayParameter like_patterns(const std::vector<std::string>& names) {
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
  return array_of(ArrayParameter::Type::text, out);
}

bool cut_key(std::optional<std::string>& key) {
  if (!key || key->size() <= shown_key) return false;
  const std::string text = base::shorten(*key, shown_key);
  key = base::is_utf8(text) ? text : key->substr(0, shown_key);
  return true;
}

StoredEvent read_stored_event(RowReader& row, bool with_payload) {
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

std::vector<LibraryVersion> database_libraries() {
  const int pq = PQlibVersion();
  return {{"libpqxx", PQXX_VERSION}, {"libpq", std::to_string(pq / 10000) + "." + std::to_string(pq % 10000)}};
}

}  // namespace inboxd::inbox
