// What `status` says to a tired person.
#include "admin/status.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace inboxd::admin;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// One partition, one handler, one daemon, all well.
Situation quiet() {
  Situation out;
  out.shards.resize(1);
  out.shards[0].topic = "orders";
  out.shards[0].partition = 3;
  out.shards[0].position = 100;
  out.shards[0].high_watermark = 120;
  out.handlers.resize(1);
  out.handlers[0].name = "billing";
  out.instances.resize(1);
  out.instances[0].unseen = seconds{2};
  return out;
}

}  // namespace

TEST_CASE("where nothing is wrong, all is well") {
  CHECK(judge(quiet()).sentence() == "all is well");
  CHECK(judge(quiet()).is_well);
}

TEST_CASE("a halted partition, a paused handler and a missing daemon are problems") {
  auto halted = quiet();
  halted.shards[0].halted_reason = "CRC";
  CHECK(judge(halted).sentence() == "1 partition is halted");
  CHECK_FALSE(judge(halted).is_well);
  halted.shards.push_back(halted.shards[0]);
  CHECK(judge(halted).sentence() == "2 partitions are halted");

  auto paused = quiet();
  paused.handlers[0].paused_reason = "fuse";
  CHECK(judge(paused).sentence() == "handler billing is paused: fuse");

  auto silent = quiet();
  silent.instances[0].unseen = minutes{2};
  CHECK(judge(silent).sentence() == "no daemon is running");
  silent.instances.clear();
  CHECK(judge(silent).sentence() == "no daemon is running");
}

TEST_CASE("what troubles a daemon is a problem, said once for a host, as long as it lives") {
  auto situation = quiet();
  situation.instances[0].worker.host = "a";
  situation.instances[0].trouble = "the brokers do not answer";
  situation.instances.push_back(situation.instances[0]);
  CHECK(judge(situation).sentence() == "a: the brokers do not answer");
  CHECK_FALSE(judge(situation).is_well);
  situation.instances[0].unseen = situation.instances[1].unseen = minutes{2};
  CHECK(judge(situation).sentence() == "no daemon is running");
}

TEST_CASE("dead letters, a backlog and quarantine are remarks: all runs, somebody should look one day") {
  auto situation = quiet();
  situation.handlers[0].dead = {12, false};
  situation.handlers[0].oldest_due_age = minutes{90};
  situation.quarantined = {100'000, true};
  const auto verdict = judge(situation);
  CHECK(verdict.is_well);
  CHECK(verdict.sentence() ==
        "all is running; handler billing is 90 minutes behind; handler billing has 12 dead; at least 100000 in "
        "quarantine");
}

TEST_CASE("a handler that is retired bothers nobody") {
  auto situation = quiet();
  situation.handlers[0].dead = {12, false};
  situation.handlers[0].retired_at = 1;
  CHECK(judge(situation).sentence() == "all is well");
}

TEST_CASE("a halt comes with the command that ends it") {
  auto shard = quiet().shards[0];
  CHECK(advice_for(shard).empty());
  shard.halted_reason = "records are gone";
  CHECK(advice_for(shard) == "goes on by itself when the cause is gone; the daemon's log says more");
  shard.gap = event::OffsetRange{100, 110};
  CHECK(advice_for(shard) == "inboxd shards accept-gap orders 3");
  shard.gap.reset();
  shard.new_incarnation = "9oSX==";
  CHECK(advice_for(shard) == "inboxd shards accept-incarnation orders");
}

TEST_CASE("lag is what the broker has beyond the position, never less than nothing, unknown before it is heard of") {
  auto shard = quiet().shards[0];
  CHECK(shard.lag() == 20);
  shard.high_watermark = 90;
  CHECK(shard.lag() == 0);
  shard.high_watermark.reset();
  CHECK_FALSE(shard.lag());
}

TEST_CASE("the document has everything that the table has") {
  const auto document = document_of(quiet());
  CHECK(document.at("verdict") == "all is well");
  CHECK(document.at("topics").at(0).at("lag") == 20);
  CHECK(document.at("topics").at(0).at("halted_reason").is_null());
  for (const char* name : {"due", "leased", "retrying", "waiting", "dead", "oldest_due_age_seconds", "paused_reason"}) {
    CAPTURE(name);
    CHECK(document.at("handlers").at(0).contains(name));
  }
  for (const char* name : {"host", "version", "last_seen_at"}) {
    CAPTURE(name);
    CHECK(document.at("instances").at(0).contains(name));
  }
}
