#include "kafka/lookup.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/kafka/client.hpp"

namespace inboxd::kafka {
namespace {

using std::chrono::milliseconds;

std::vector<std::string> many_names() {
  std::vector<std::string> out;
  for (int i = 0; i < 200; ++i) out.push_back("topic-" + std::to_string(i));
  return out;
}

}  // namespace

TEST_CASE("brokers that are away cost one timeout, for any number of topics") {
  const Client client = lonely_client();
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(describe_topics(client.get(), many_names(), milliseconds{200}));
  CHECK(std::chrono::steady_clock::now() - began < milliseconds{20'000});
}

}  // namespace inboxd::kafka
