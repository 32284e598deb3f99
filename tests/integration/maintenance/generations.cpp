// The filters of the ledger's generations: made, stored, loaded by others, dropped.
#include "maintenance/generations.hpp"

#include <catch2/catch_test_macros.hpp>

#include "integration/support/generations.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// An instance's maintenance of the ledger.
struct Keeper {
  explicit Keeper(Inbox& inbox, config::Settings settings = {})
      : connection{inbox.connect()}, generations{settings, filters, *connection, turn, log} {}

  void load() {
    turn.begin(std::chrono::steady_clock::now() + std::chrono::hours{1});
    generations.load_filters();
  }
  void turn_over() {
    turn.begin(std::chrono::steady_clock::now() + std::chrono::hours{1});
    generations.turn_over();
  }

  base::Heartbeat heartbeat;
  base::StopSignal stop;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::LedgerFilters filters;
  std::unique_ptr<inbox::Connection> connection;
  maintenance::Turn turn{heartbeat, stop};
  maintenance::Generations generations;
};

void store(Inbox& inbox, std::int32_t shard, std::int64_t from, int events) {
  Batch batch{inbox};
  batch.at(shard, from).events(events);
  batch.get().routing_version = inbox.routing_version();
  CHECK(batch.store(inbox.connection()).stored == events);
}

std::vector<base::Uuid> stored_ids(Inbox& inbox) {
  const auto generation = inbox::read_generations(inbox.connection()).at(0);
  return inbox::read_ids(inbox.connection(), generation.frozen.generation, 0, generation.blocks);
}

/// The filter has each of the ids.
bool knows(const inbox::LedgerFilters& filters, std::int64_t key, const std::vector<base::Uuid>& ids) {
  const auto answers = filters.ask(ids);
  return answers.filter_keys == std::vector{key} && answers.suspects.size() == ids.size();
}

}  // namespace

TEST_CASE("an instance makes and stores the filter of a frozen generation, and another loads it") {
  Inbox inbox;
  store(inbox, inbox.add_shard("orders"), 0, 500);
  REQUIRE(freeze(inbox));
  Keeper maker{inbox}, loader{inbox};
  maker.load();
  const auto key = inbox::read_generations(inbox.connection()).at(0).frozen.filter_key;
  const auto ids = stored_ids(inbox);
  REQUIRE(ids.size() == 500);
  CHECK(knows(maker.filters, key, ids));
  // Only the stored filter knows the ids from here on.
  inbox.database().run("create table inbox.copy as select * from inbox.ledger; truncate inbox.ledger");
  loader.load();
  CHECK(knows(loader.filters, key, ids));
  CHECK(loader.filters.hash_key() == maker.filters.hash_key());
}

TEST_CASE("a damaged filter is made again from its ids") {
  Inbox inbox;
  store(inbox, inbox.add_shard("orders"), 0, 500);
  REQUIRE(freeze(inbox));
  Keeper maker{inbox}, loader{inbox};
  maker.load();
  inbox.database().run("update inbox.ledger_filter set bits = set_byte(bits, 7, get_byte(bits, 7) # 1)");
  loader.load();
  const auto key = inbox::read_generations(inbox.connection()).at(0).frozen.filter_key;
  CHECK(knows(loader.filters, key, stored_ids(inbox)));
}

TEST_CASE("a filter is dropped with its generation, and the oldest are left out beyond ledger.filter_bytes") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  for (const std::int64_t from : {0, 500, 1000}) {
    store(inbox, shard, from, 500);
    REQUIRE(freeze(inbox));
  }
  Keeper all{inbox};
  all.load();
  CHECK(all.filters.count() == 3);
  const auto hash_key = all.filters.hash_key();
  Keeper other{inbox};
  other.load();
  CHECK(other.filters.hash_key() == hash_key);  // of all filters, whoever made them
  config::Settings small;
  small.ledger.filter_bytes = all.filters.bytes() / 2;
  Keeper newest{inbox, small};
  newest.load();
  CHECK(newest.filters.count() == 1);
  CHECK(newest.filters.has(inbox::read_generations(inbox.connection()).at(0).frozen.filter_key));

  make_generations_old(inbox);
  config::Settings short_keep;
  short_keep.retention.ledger = std::chrono::hours{24};
  Keeper dropper{inbox, short_keep};
  dropper.turn_over();
  CHECK(inbox.database().number("select count(*) from inbox.ledger_generation") == 1);
  all.load();
  CHECK(all.filters.count() == 0);
}
