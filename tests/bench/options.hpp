#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace inboxd::bench {

/// What a run of the benchmark is asked for. Sizes in bytes.
struct Options {
  std::vector<std::string> scenarios;
  std::int64_t events = 1'000'000;
  std::size_t payload = 256;
  int partitions = 8;
  int handlers = 1;                            ///< how many are owed each event, in `end-to-end` and `ingest-memory`
  int connections = 2;                         ///< of ingest, in all three kinds of run
  int batch = 1000;                            ///< the most events of a transaction, as in the settings
  int rounds = 3;                              ///< each round measures every kind of run once, in turn
  std::chrono::seconds duration{600};          ///< of `old-snapshot`; the others take their part of it
  std::map<std::string, std::string> properties = {};  ///< the daemon's kafka.properties
  bool smoke = false;                          ///< small numbers, warm-up left out
  bool profile = false;                        ///< no warm-up; ingest-memory: inboxd alone, over and over
  std::string postgres;                        ///< libpq URL of a superuser: INBOXD_TEST_PG
  std::string kafka;                           ///< host:port: INBOXD_TEST_KAFKA
};

/// Reads arguments and environment; what is wrong is thrown as std::invalid_argument with a sentence.
Options read_options(int count, char** arguments, const std::vector<std::string>& known_scenarios);

}  // namespace inboxd::bench
