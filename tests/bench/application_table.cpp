#include "application_table.hpp"

#include <stdexcept>

namespace inboxd::bench {

void create_application_table(PostgresSession& session) {
  session.run(
      "drop schema if exists bench_application cascade; create schema bench_application;"
      "create table bench_application.applied (event_id uuid not null, order_number text not null);"
      "create index on bench_application.applied (order_number)");
}

void check_application_table(PostgresSession& session, std::int64_t events) {
  const auto rows = session.number("select count(*) from bench_application.applied");
  const auto different = session.number("select count(distinct event_id) from bench_application.applied");
  if (rows == events && different == events) return;
  throw std::runtime_error{"bench_application.applied is wrong: " + std::to_string(rows) + " rows of " +
                           std::to_string(different) + " events, expected " + std::to_string(events)};
}

std::string insert_settings() {
  return "{statement: \"insert into bench_application.applied (event_id, order_number)"
         " select event_id, body->>'order' from events\"}";
}

}  // namespace inboxd::bench
