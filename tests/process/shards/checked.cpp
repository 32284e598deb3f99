// `check` of databases that share topics.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>

#include "process/shards/shards_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> two_databases() { return {needed("INBOXD_TEST_PG"), needed("INBOXD_TEST_PG")}; }

struct Placed {
  std::optional<std::string> key;
  int partition = 0;
};
/// Places that murmur2 (Java clients) gives to keys in four partitions, and CRC32 (librdkafka) to others, in partitions
/// of the first of two databases. The other hash would give each key to the second database.
const std::vector<Placed> by_murmur2{{"key6", 0}, {"key10", 0}, {"key11", 2}};
const std::vector<Placed> by_crc32{{"key2", 2}, {"key3", 0}, {"key8", 0}, {"key9", 2}};

void send(ShardsFixture& fixture, const std::vector<Placed>& events) {
  static int number = 0;
  std::vector<Message> messages;
  for (const auto& [key, partition] : events) {
    const std::string digits = std::to_string(100'000'000'000 + ++number);
    messages.push_back(event_message(fixture.topic, "00000000-0000-4000-8000-" + digits));
    messages.back().key = key;
    messages.back().partition = partition;
  }
  const std::int64_t before = fixture.stored();
  fixture.kafka.produce(messages);
  wait_until("they are stored",
             [&] { return fixture.stored() == before + static_cast<std::int64_t>(events.size()); });
}

}  // namespace

// fault: a database configured as another shard than its schema
TEST_CASE("check refuses a topic that the databases cannot divide, a member that subscribes, and another's schema") {
  ShardsFixture fixture{3, two_databases()};
  auto& shard = *fixture.shards[0];
  auto daemon = shard.start();
  CHECK_THAT(command(shard.config, {"check"}).out,
             ContainsSubstring("topic " + fixture.topic + " has 3 partitions, which shard.of (2) does not divide"));
  fixture.kafka.add_partitions(fixture.topic, 4);
  CHECK(command(shard.config, {"check"}).status == ExitStatus{0, 0});
  ConfigText member = fixture.shards[1]->config;
  member.sections.erase("shard");
  const DaemonProcess other{member};
  wait_until("check names the member", [&] {
    const auto checked = command(shard.config, {"check"});
    return checked.status == ExitStatus{1, 0} && checked.out.find("has a member that subscribes") != std::string::npos;
  });
  ShardsFixture::set_shard(shard, 1, 2);
  const auto foreign = command(shard.config, {"check"});
  CHECK(foreign.status == ExitStatus{1, 0});
  CHECK_THAT(foreign.out, ContainsSubstring("was first used with shard: {index: 0, of: 2}"));
  ShardsFixture::set_shard(shard, 0, 2);
}

// fault: events without a key, several databases
// fault: producers with different partitioners, several databases
TEST_CASE("check warns of events without a key, and of keys that two partitioners have placed") {
  ShardsFixture fixture{4, two_databases()};
  auto& shard = *fixture.shards[0];
  const auto daemon = shard.start();
  const auto other = fixture.shards[1]->start();
  const auto checked = [&] { return command(shard.config, {"check"}); };
  send(fixture, by_murmur2);
  const auto clean = checked();
  CHECK(clean.status == ExitStatus{0, 0});
  CHECK_THAT(clean.out, !ContainsSubstring("murmur2") && !ContainsSubstring("without") && !ContainsSubstring("no key"));
  send(fixture, by_crc32);
  send(fixture, {{std::nullopt, 0}, {std::nullopt, 2}});
  const auto warned = checked();
  CHECK(warned.status == ExitStatus{0, 0});
  CHECK_THAT(warned.out, ContainsSubstring("topic " + fixture.topic + ": some producers place keys by murmur2"));
  CHECK_THAT(warned.out, ContainsSubstring("2 of the newest 9 events have no key"));
}
