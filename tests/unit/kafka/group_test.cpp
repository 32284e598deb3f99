#include "kafka/group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "support/mock_brokers.hpp"

using namespace inboxd;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// A client that lives on stays without an answer then, or writes to freed memory.
TEST_CASE("a coordinator that is back after a question was given up answers the next") {
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
}

TEST_CASE("the members of a group are asked in the background: brokers that are away hold nobody up") {
  kafka::RecentMembers members;
  const auto began = Clock::now();
  for (int i = 0; i < 100; ++i) CHECK_FALSE(members.ask({"127.0.0.1:1", "", "", {}}, "group", Clock::now()));
  CHECK(Clock::now() - began < milliseconds{1'000});
}
