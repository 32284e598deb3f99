#include "support/fake_standby.hpp"

#include <libpq-fe.h>

#include <stdexcept>

namespace inboxd::support {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

void put(std::string& message, std::uint64_t value, int bytes) {
  for (int at = bytes - 1; at >= 0; --at) message.push_back(static_cast<char>(value >> (8 * at)));
}

}  // namespace

void FakeStandby::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

// The replication protocol accepts its keywords in capitals only.
FakeStandby::FakeStandby(const std::string& url, const std::string& slot)
    : connection_{PQconnectdb((url + "?replication=true").c_str())} {
  run("CREATE_REPLICATION_SLOT " + slot + " PHYSICAL RESERVE_WAL", PGRES_TUPLES_OK);
  Result system{PQexec(connection_.get(), "IDENTIFY_SYSTEM"), &PQclear};
  if (PQntuples(system.get()) != 1) throw std::runtime_error{PQerrorMessage(connection_.get())};
  run("START_REPLICATION SLOT " + slot + " PHYSICAL " + PQgetvalue(system.get(), 0, 2), PGRES_COPY_BOTH);
}

void FakeStandby::run(const std::string& command, int wanted) {
  const Result result{PQexec(connection_.get(), command.c_str()), &PQclear};
  if (PQresultStatus(result.get()) != wanted) throw std::runtime_error{PQerrorMessage(connection_.get())};
}

void FakeStandby::needs(std::uint32_t xmin) {
  std::string feedback{"h"};
  put(feedback, 0, 8);     // its clock, which the server ignores
  put(feedback, xmin, 4);  // xmin and its epoch
  put(feedback, 0, 4);
  put(feedback, 0, 4);  // catalog_xmin and its epoch: none
  put(feedback, 0, 4);
  if (PQputCopyData(connection_.get(), feedback.data(), static_cast<int>(feedback.size())) != 1 ||
      PQflush(connection_.get()) != 0) {
    throw std::runtime_error{PQerrorMessage(connection_.get())};
  }
}

}  // namespace inboxd::support
