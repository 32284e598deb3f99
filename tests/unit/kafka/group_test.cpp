#include "kafka/group.hpp"

#include <malloc.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "support/mock_brokers.hpp"

using namespace inboxd;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST_CASE("a coordinator that is back after a question was given up finds no remains of it") {
  ::mallopt(M_PERTURB, 0x5a);  // whoever reads freed memory notices
  support::MockBrokers brokers;
  brokers.create_topic("topic", 1);
  for (int i = 0; i < 3; ++i) {
    brokers.lose_coordinator("group");
    const auto began = Clock::now();
    CHECK_FALSE(kafka::describe_group({brokers.addresses(), "", "", {}}, "group", milliseconds{300}));
    CHECK(Clock::now() - began < milliseconds{20'000});
    brokers.return_coordinator();
    // The mock brokers do not know groups. That they say so shows that the coordinator is back.
    const auto unknown = kafka::describe_group({brokers.addresses(), "", "", {}}, "group", milliseconds{10'000});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.problem().code != "_TIMED_OUT");
  }
  ::mallopt(M_PERTURB, 0);
}
