#include "inbox/connection_limits.hpp"

#include <optional>

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

std::vector<std::string> low_connection_limits(Connection& connection, int needed) {
  auto& access = connection.access();
  const auto row = access.run(statements::connection_limits, pqxx::params{}, Connection::Access::Effect::reads)[0];
  if (row[5].as<int>() != PQbackendPID(access.raw)) return {};
  std::vector<std::string> out;
  const auto compare = [&](const pqxx::field& limit, const std::string& owner, const std::string& remedy) {
    const auto most = limit.as<std::optional<int>>();
    if (!most || *most >= needed) return;
    out.push_back(owner + " allows " + std::to_string(*most) +
                  " connections, and an instance with this configuration needs up to " + std::to_string(needed) + ": " +
                  remedy + ", or lower concurrency");
  };
  const auto role = row[0].as<std::string>(), database = row[2].as<std::string>(), count = std::to_string(needed);
  compare(row[1], "role " + role, "alter role " + role + " connection limit " + count);
  compare(row[3], "database " + database, "alter database " + database + " connection limit " + count);
  compare(row[4], "the server", "raise max_connections");
  return out;
}

}  // namespace inboxd::inbox
