#include "kafka/lookup.hpp"

#include <catch2/catch_test_macros.hpp>

#include "kafka/properties.hpp"

namespace inboxd::kafka {
namespace {

using std::chrono::milliseconds;

Client lonely_client() {
  auto conf = make_conf({"127.0.0.1:1", "", "", {}, 0});
  REQUIRE(conf);
  rd_kafka_conf_set_log_cb(conf.value().get(), nullptr);
  auto made = make_consumer(std::move(conf).value());
  REQUIRE(made);
  return std::move(made).value();
}

std::vector<std::string> many_names() {
  std::vector<std::string> out;
  for (int i = 0; i < 200; ++i) out.push_back("topic-" + std::to_string(i));
  return out;
}

}  // namespace

TEST_CASE("brokers that are away cost one question's time, however many topics it is about") {
  const Client client = lonely_client();
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(describe_topics(client.get(), many_names(), milliseconds{200}));
  CHECK(std::chrono::steady_clock::now() - began < milliseconds{2'000});
}

}  // namespace inboxd::kafka
