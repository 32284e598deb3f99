// Outbox messages as applications insert them: any topic, key, payload and headers.
#include <libpq-fe.h>

#include <array>
#include <memory>

#include "event/headers.hpp"
#include "fuzz/target.hpp"
#include "inbox/outbox.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const std::shared_ptr<PGresult> result{PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK), PQclear};
  std::array<PGresAttDesc, 10> columns{};
  static char name[] = "column";
  for (auto& column : columns) column = {name, 0, 0, 1, 0, -1, -1};
  PQsetResultAttrs(result.get(), columns.size(), columns.data());
  const auto set = [&](int column, std::string_view value) {
    PQsetvalue(result.get(), 0, column, const_cast<char*>(value.data()), static_cast<int>(value.size()));
  };
  const std::string zeros(16, '\0');
  const auto nulls = input.byte();
  set(0, zeros.substr(0, 8));
  set(1, zeros);
  const auto topic = input.text();
  set(2, topic);
  for (int column = 3; column <= 5; ++column) {
    if ((nulls >> column & 1) == 0) set(column, column == 5 ? input.rest() : input.text());
  }
  for (const int column : {6, 8}) set(column, zeros.substr(0, 8));
  for (const int column : {7, 9}) set(column, zeros.substr(0, 1));
  const inbox::OutboxRows rows{result};
  fuzz::require(rows.size() == 1, "a row is a row");
  const auto row = rows.at(0);
  fuzz::require(row.topic == topic, "the topic is the message's");
  fuzz::require(row.bytes() >= row.topic.size() + row.headers.size(), "a message has its size");
  for (const auto& header : event::unpack_headers(row.headers)) {
    fuzz::require(header.name.data() >= row.headers.data(), "headers are views into the row");
  }
  return 0;
}
