#include "inbox/stored_bytes.hpp"

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

StoredBytes stored_bytes(Connection& connection, const StoredBytes& from) {
  const auto row = connection.access().run(statements::stored_bytes, pqxx::params{from.dead_letters, from.quarantine});
  return {row[0][0].as<std::int64_t>(), row[0][1].as<std::int64_t>()};
}

std::vector<std::string> pause_at_limit(Connection& connection, const std::string& reason) {
  std::vector<std::string> out;
  for (const auto& row : connection.access().run(statements::pause_at_limit, pqxx::params{reason})) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

}  // namespace inboxd::inbox
