#include "inbox/stored_bytes.hpp"

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

std::vector<std::string> names_of(const pqxx::result& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows) out.push_back(row[0].as<std::string>());
  return out;
}

}  // namespace

StoredBytes stored_bytes(Connection& connection, const StoredBytes& from) {
  const auto row = connection.access().run(statements::stored_bytes, pqxx::params{from.dead_letters, from.quarantine});
  return {row[0][0].as<std::int64_t>(), row[0][1].as<std::int64_t>()};
}

std::vector<std::string> pause_at_limit(Connection& connection, const std::string& reason) {
  return names_of(connection.access().run(statements::pause_at_limit, pqxx::params{reason}));
}

std::vector<std::string> resume_below_limit(Connection& connection) {
  return names_of(connection.access().run(statements::resume_below_limit, {}));
}

}  // namespace inboxd::inbox
