#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace inboxd::bench {

/// Command line and environment of the benchmark. Sizes in bytes.
struct Options {
  std::vector<std::string> scenarios;
  std::int64_t events = 1'000'000;
  std::int64_t ids = 10'000'000;  ///< that the ledger knows before, in `ledger`
  std::size_t payload = 256;
  int partitions = 8;
  int handlers = 1;     ///< handlers of each event, in `end-to-end` and `ingest-memory`
  int connections = 2;  ///< of ingest, in limit, baseline and daemon
  int batch = 1000;
  int rounds = 3;
  std::chrono::seconds duration{600};                  ///< of `old-snapshot`; other scenarios take a part of it
  std::map<std::string, std::string> properties = {};  ///< `kafka.properties` of the daemon
  bool smoke = false;                                  ///< small numbers, no warm-up
  bool profile = false;                                ///< no warm-up; ingest-memory repeats the daemon's run only
  std::string postgres;                                ///< libpq URL of a superuser: INBOXD_TEST_PG
  std::string kafka;                                   ///< host:port: INBOXD_TEST_KAFKA
};

/// Reads arguments and environment. Throws std::invalid_argument with a sentence.
Options read_options(int count, char** arguments, const std::vector<std::string>& known_scenarios);

}  // namespace inboxd::bench
