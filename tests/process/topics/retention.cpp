#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("check warns if Kafka keeps a topic's records longer than the ledger keeps their ids") {
  DaemonFixture fixture{1};
  fixture.migrate();
  const std::string days = fixture.kafka.create_topic(1, "", {{"retention.ms", "864000000"}});
  const std::string short_lived = fixture.kafka.create_topic(1, "", {{"retention.ms", "86400000"}});
  const std::string compacted = fixture.kafka.create_topic(1, "", {{"cleanup.policy", "compact"}});
  fixture.config.topics.clear();
  for (const std::string& topic : {days, short_lived, compacted}) {
    fixture.config.topics.push_back("{name: '" + topic + "'}");
  }
  const auto check = [&](const std::string& ledger) {
    fixture.config.sections["retention"] = "events: 1d, ledger: " + ledger;
    const auto finished = command(fixture.config, {"check"});
    CHECK(finished.status == ExitStatus{0, 0});
    return finished.out + finished.err;
  };
  const std::string warned = check("9d");
  CHECK_THAT(warned, ContainsSubstring("topic " + days + ": retention.ledger (9d) is shorter than the time that Kafka "
                                                         "keeps its records (retention.ms: 10d)"));
  CHECK_THAT(warned, ContainsSubstring("topic " + compacted + ": retention.ledger (9d) is shorter than the time that "
                                                              "Kafka keeps its records (for ever)"));
  CHECK_THAT(warned, !ContainsSubstring("topic " + short_lived + ": retention.ledger"));
  CHECK_THAT(check("10d"), !ContainsSubstring("topic " + days + ": retention.ledger"));
  CHECK_THAT(check("forever"), !ContainsSubstring("retention.ledger"));
}
