#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/present.hpp"

using namespace inboxd;
using Catch::Matchers::Equals;

TEST_CASE("status --sizes ends with the growth, and says that free disk space is not known") {
  const auto sizes = operations::Document::parse(R"({
      "bytes": 3145728, "bytes_per_day": 1048576,
      "growth": [{"table": "event", "bytes_per_day": 1048576, "days_left": 28.2},
                 {"table": "failure", "bytes_per_day": 0, "days_left": null}],
      "tables": [{"table": "event", "day": "2026-11-25", "bytes": 2097152},
                 {"table": "ledger", "day": null, "bytes": 1048576}]})");
  CHECK_THAT(cli::present_sizes(sizes, {}), Equals("TABLE   DAY            SIZE\n"
                                                   "event   2026-11-25  2.0 MiB\n"
                                                   "ledger              1.0 MiB\n"
                                                   "\n"
                                                   "GROWS    PER DAY  DAYS UNTIL ITS OLDEST IS DROPPED\n"
                                                   "event    1.0 MiB                                29\n"
                                                   "failure      0 B                             never\n"
                                                   "\n"
                                                   "3.0 MiB in all, growing by 1.0 MiB per day at today's rate; free "
                                                   "disk space is not known\n"));
}
