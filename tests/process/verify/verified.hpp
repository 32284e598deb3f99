#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"

namespace inboxd::support {

/// What `inboxd verify --json` has found.
struct Verified {
  int status = 0;
  nlohmann::json document;
  std::string text;
  std::int64_t at(const char* field, std::size_t partition = 0) const {
    return document.at("partitions").at(partition).at(field).get<std::int64_t>();
  }
};

inline Verified verify(const DaemonFixture& fixture, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"verify", "--json"});
  const auto finished = command(fixture.config, options);
  Verified out;
  out.status = finished.status.code;
  out.text = finished.out + finished.err;
  out.document = nlohmann::json::parse(finished.out, nullptr, false);
  return out;
}

inline void wait_read(DaemonFixture& fixture) {
  fixture.database.wait_for("all is read", "select count(*) from inbox.lag where lag = 0 and position > 0", 1);
}

/// As if it had never been stored.
inline void lose(DaemonFixture& fixture, std::int64_t offset) {
  const Session::Parameters at{std::to_string(offset)};
  for (const char* const sql :
       {"delete from inbox.event where \"offset\" = $1", "delete from inbox.ledger where \"offset\" = $1",
        "update inbox.outcome set offsets = offsets - int8multirange(int8range($1, $1::bigint + 1)) "
        "where offsets @> $1::bigint and upper(offsets) - lower(offsets) > 1",
        "delete from inbox.outcome where offsets = int8multirange(int8range($1, $1::bigint + 1))"}) {
    fixture.database.run(sql, at);
  }
}

}  // namespace inboxd::support
