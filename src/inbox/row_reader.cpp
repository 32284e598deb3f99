#include "inbox/row_reader.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <cstring>

#include "inbox/array_parameter.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

pqxx::result run_read(Connection& connection, const Statement& statement, const pqxx::params& parameters) {
  auto& access = connection.access();
  access.open();
  if (!access.has_jit) return access.run(statement, parameters, Connection::Access::Effect::reads);
  pqxx::result out;
  try {
    access.transaction([&](pqxx::work& tx) {
      access.run_in(tx, statements::op_no_jit, pqxx::params{});
      out = access.run_in(tx, statement, parameters);
      return false;  // nothing to commit
    });
  } catch (const DatabaseError& error) {
    if (error.failure().fault != Fault::in_doubt) throw;
    auto failure = error.failure();
    failure.fault = Fault::reconnect;  // a read is never in doubt
    throw DatabaseError{std::move(failure)};
  }
  return out;
}

std::int32_t BinaryRow::int4(int column) const {
  std::uint32_t wire = 0;
  std::memcpy(&wire, bytes(column).data(), sizeof wire);
  return static_cast<std::int32_t>(ntohl(wire));
}

std::int64_t BinaryRow::int8(int column) const {
  std::uint64_t wire = 0;
  std::memcpy(&wire, bytes(column).data(), sizeof wire);
  return static_cast<std::int64_t>(be64toh(wire));
}

base::Uuid BinaryRow::uuid(int column) const {
  base::Uuid out;
  std::memcpy(out.bytes.data(), bytes(column).data(), out.bytes.size());
  return out;
}

std::optional<event::Microseconds> BinaryRow::time(int column) const {
  if (is_null(column)) return std::nullopt;
  return int8(column) + postgres_epoch_us;
}

}  // namespace inboxd::inbox
