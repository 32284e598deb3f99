// The configured topic of a name, and the topics that patterns never match.
#include "config/topics.hpp"

#include <catch2/catch_test_macros.hpp>
#include <regex>

#include "kafka/properties.hpp"

namespace inboxd::consumer {
namespace {

config::Topic of_pattern(const std::string& pattern) {
  config::Topic out;
  out.pattern = pattern;
  return out;
}

std::string blacklist_with(const std::vector<std::string>& hidden) {
  const auto conf = kafka::make_conf({"127.0.0.1:1", "", "", {}, 0, 0, hidden});
  REQUIRE(conf);
  std::string out(500, '\0');
  std::size_t size = out.size();
  REQUIRE(rd_kafka_conf_get(conf.value().get(), "topic.blacklist", out.data(), &size) == RD_KAFKA_CONF_OK);
  return out.substr(0, size - 1);
}

}  // namespace

TEST_CASE("a pattern never matches Kafka's own topics, but matches similar names") {
  const config::Topics topics{{of_pattern("^.*")}};
  for (const auto name : config::internal_topics) {
    INFO(name);
    CHECK(topics.find(std::string{name}) == nullptr);
    CHECK(topics.find(std::string{name} + "_too") != nullptr);
  }
  CHECK(topics.find("orders") == &topics.entries()[0]);
}

TEST_CASE("an excluded topic is matched by no pattern; * stands for any characters") {
  config::Topic orders = of_pattern("^orders");
  orders.exclude = {"orders.*.DLT", "^orders-(retry|old)$"};
  const config::Topics topics{{orders, of_pattern("^.*DLT$")}};
  for (const char* name : {"orders.eu.DLT", "orders..DLT", "orders-retry", "orders-old"}) {
    INFO(name);
    CHECK(topics.find(name) == nullptr);
  }
  for (const char* name : {"orders", "ordersXeuXDLTX", "orders-retry-2", "payments.DLT"}) {
    INFO(name);
    CHECK(topics.find(name) != nullptr);
  }
}

TEST_CASE("patterns for Kafka's topics do not match the name of a local topic") {
  config::Topic local;
  local.name = "sign.up";
  local.source = config::Source::local;
  const config::Topics topics{config::kafka_topics({local, of_pattern("^sign")})};
  CHECK(topics.find("sign.up") == nullptr);
  CHECK(topics.find("sign-up") != nullptr);
  CHECK(topics.subscription() == std::vector<std::string>{"^sign"});
  CHECK(config::kafka_topics({local}).empty());
}

TEST_CASE("the client hides Kafka's own topics, and topics that the user hides") {
  for (const std::vector<std::string>& theirs : {std::vector<std::string>{}, {"^secret\\.", "^old$"}}) {
    const std::string list = blacklist_with(theirs);
    CHECK(list.starts_with(theirs.empty() ? "^__" : "^secret\\.,^old$,"));
    const std::regex ours{list.substr(list.rfind(',') + 1), std::regex::extended};
    for (const auto name : config::internal_topics) {
      INFO(name);
      CHECK(std::regex_search(std::string{name}, ours));
    }
    CHECK_FALSE(std::regex_search("__consumer_offsets_too", ours));
    CHECK_FALSE(std::regex_search("orders", ours));
  }
}

}  // namespace inboxd::consumer
