#include "inbox/operations_audit.hpp"

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

void write_audit(Connection& connection, const std::string& actor, const std::string& operation,
                 const std::string& target) {
  connection.access().run(statements::op_audit, pqxx::params{actor, operation, target});
}

}  // namespace inboxd::inbox
