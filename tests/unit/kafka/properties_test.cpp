#include "kafka/properties.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
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

TEST_CASE("the limits of a queue are passed to the client library, with 1 KiB for each record at least") {
  const int events = GENERATE(5'000, 100'000);
  const auto conf = make_conf({"127.0.0.1:1", "group", "", {}, 8 << 20, events});
  REQUIRE(conf);
  const auto value = [&](const char* name) {
    std::array<char, 64> text{};
    std::size_t size = text.size();
    REQUIRE(rd_kafka_conf_get(conf.value().get(), name, text.data(), &size) == RD_KAFKA_CONF_OK);
    return std::string{text.data()};
  };
  CHECK(value("queued.max.messages.kbytes") == "8192");
  CHECK(value("queued.min.messages") == (events == 5'000 ? "5000" : "8192"));
}

TEST_CASE("the newer group protocol is refused with a library that is too old for it") {
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
