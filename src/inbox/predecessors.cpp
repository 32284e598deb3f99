#include "inbox/predecessors.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

std::vector<Predecessor> find_predecessors(Connection& connection, const InstanceIdentity& self) {
  std::vector<Predecessor> out;
  const pqxx::params parameters{self.instance_id.text(), self.boot, self.member};
  for (const auto& row : connection.access().run(statements::find_predecessors, parameters,
                                                 Connection::Access::Effect::reads)) {
    const auto id = base::parse_uuid(row[0].view());
    if (id) out.push_back({*id, row[1].as<std::string>(), row[2].as<int>(), row[3].as<bool>(), row[4].as<bool>()});
  }
  return out;
}

std::vector<Predecessor> find_living_predecessors(Connection& connection, const base::Uuid& self) {
  std::vector<Predecessor> out;
  for (const auto& row : connection.access().run(statements::find_living_predecessors, pqxx::params{self.text()},
                                                 Connection::Access::Effect::reads)) {
    const auto id = base::parse_uuid(row[0].view());
    if (id) out.push_back({*id, row[1].as<std::string>(), row[2].as<int>(), true});
  }
  return out;
}

bool end_leases(Connection& connection, const std::vector<base::Uuid>& of, const base::Uuid& successor, int limit) {
  auto owners = array_of(ArrayParameter::Type::uuid, of);
  const pqxx::params parameters{owners.finish(), successor.text(), limit};
  return connection.access().run(statements::end_leases, parameters)[0][0].as<bool>();
}

}  // namespace inboxd::inbox
