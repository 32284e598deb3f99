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
                 {"table": "event", "day": "2026-11-26", "bytes": 32768},
                 {"table": "ledger", "day": null, "bytes": 1048576}],
      "ledger": {"generations": 3, "ids": 12345678, "bytes": 1048576, "index_bytes": 524288, "filters": 2,
                 "random_share": 0.98, "shared_buffers": 134217728, "resends": 1234, "resend_seconds": 4096,
                 "full_page_share": 0.61, "wal_bytes_per_second": 1048576, "checkpoint_bytes": 536870912,
                 "advice": ["a sentence"]}})");
  CHECK_THAT(cli::present_sizes(sizes, {}), Equals("TABLE   DAY            SIZE\n"
                                                   "event   2026-11-25  2.0 MiB\n"
                                                   "ledger              1.0 MiB\n"
                                                   "not listed, below 64 KiB: 1 day\n"
                                                   "\n"
                                                   "GROWS    PER DAY  DAYS UNTIL ITS OLDEST IS DROPPED\n"
                                                   "event    1.0 MiB                                29\n"
                                                   "failure      0 B                             never\n"
                                                   "\n"
                                                   "3.0 MiB in all, growing by 1.0 MiB per day at today's rate; free "
                                                   "disk space is not known\n"
                                                   "\n"
                                                   "ledger: 12,345,678 ids in 3 generations, indexes 512.0 KiB, "
                                                   "shared_buffers 128.0 MiB, 98 % random ids\n"
                                                   "resends: 1,234 in 90 days, 99.9 % of them within 4096s\n"
                                                   "WAL of the server: 1.0 MiB/s, 61 % whole pages, a checkpoint "
                                                   "every 512.0 MiB\n"
                                                   "  a sentence\n"));
}
