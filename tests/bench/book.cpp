#include "book.hpp"

#include <stdexcept>

namespace inboxd::bench {

void create_book(Session& session) {
  session.run(
      "drop schema if exists bench_book cascade; create schema bench_book;"
      "create table bench_book.booked (event_id uuid not null, order_number text not null);"
      "create index on bench_book.booked (order_number)");
}

void check_book(Session& session, std::int64_t events) {
  const auto rows = session.number("select count(*) from bench_book.booked");
  const auto different = session.number("select count(distinct event_id) from bench_book.booked");
  if (rows == events && different == events) return;
  throw std::runtime_error{"the book is wrong: " + std::to_string(rows) + " rows of " + std::to_string(different) +
                           " events, there are " + std::to_string(events)};
}

std::string book_settings() {
  return "{statement: \"insert into bench_book.booked (event_id, order_number)"
         " select event_id, body->>'order' from events\"}";
}

}  // namespace inboxd::bench
