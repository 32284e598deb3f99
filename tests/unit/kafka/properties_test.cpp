#include "kafka/properties.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace inboxd::kafka {

using Catch::Matchers::ContainsSubstring;
using Properties = std::map<std::string, std::string>;

TEST_CASE("a client can be made with either group protocol") {
  for (const char* const protocol : {"classic", "consumer"}) {
    auto conf = make_conf({"127.0.0.1:1", "group", "", {{"group.protocol", protocol}}, 0});
    REQUIRE(conf);
    rd_kafka_conf_set_log_cb(conf.value().get(), nullptr);
    const auto client = make_consumer(std::move(conf).value());
    INFO((client ? "" : client.problem().message));
    CHECK(client);
  }
}

TEST_CASE("the newer group protocol is refused where the library is too old to be trusted with it") {
  CHECK(assignment_problem({}).empty());
  CHECK(assignment_problem({{"group.protocol", "classic"}}).empty());
  const auto problem = assignment_problem({{"group.protocol", "consumer"}});
  if (library_version_number() >= 0x020f00ff) {
    CHECK(problem.empty());
  } else {
    CHECK_THAT(problem, ContainsSubstring("2.15") && ContainsSubstring(library_version()));
  }
}

}  // namespace inboxd::kafka
