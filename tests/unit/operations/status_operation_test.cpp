// Findings, verdict and document of `status`.
#include "operations/status_operation.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using namespace inboxd::operations;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

/// A partition, a handler and a daemon, all well.
Situation quiet() {
  Situation out;
  out.partitions.resize(1);
  out.partitions[0].topic = "orders";
  out.partitions[0].partition = 3;
  out.partitions[0].position = 100;
  out.partitions[0].high_watermark = 120;
  out.partitions[0].observed_age = seconds{2};
  out.partitions[0].any_live = true;
  out.handlers.resize(1);
  out.handlers[0].name = "billing";
  out.instances.resize(1);
  out.instances[0].unseen = seconds{2};
  return out;
}

}  // namespace

TEST_CASE("without a finding all is well") {
  CHECK(judge(quiet()).sentence() == "all is well");
  CHECK(judge(quiet()).is_well());
}

TEST_CASE("a halted partition and a missing daemon are problems, a paused handler is a remark") {
  auto halted = quiet();
  halted.partitions[0].halted_reason = "CRC";
  CHECK(judge(halted).sentence() == "1 partition is halted");
  CHECK_FALSE(judge(halted).is_well());
  halted.partitions.push_back(halted.partitions[0]);
  CHECK(judge(halted).sentence() == "2 partitions are halted");

  auto paused = quiet();
  paused.handlers[0].paused_reason = "fuse";
  CHECK(judge(paused).sentence() == "no problems; handler billing is paused: fuse");
  CHECK(judge(paused).is_well());

  auto silent = quiet();
  silent.instances[0].unseen = seconds{15};
  CHECK(judge(silent).is_well());
  silent.instances[0].unseen = seconds{16};
  CHECK(judge(silent).sentence() == "no daemon is running");
  silent.instances.clear();
  CHECK(judge(silent).sentence() == "no daemon is running");
}

TEST_CASE("a daemon's failure is a problem, reported once per host, while the daemon lives") {
  auto situation = quiet();
  situation.instances[0].worker.host = "a";
  situation.instances[0].trouble = "the brokers do not answer";
  situation.instances.push_back(situation.instances[0]);
  CHECK(judge(situation).sentence() == "a: the brokers do not answer");
  CHECK_FALSE(judge(situation).is_well());
  situation.instances[0].unseen = situation.instances[1].unseen = minutes{2};
  CHECK(judge(situation).sentence() == "no daemon is running");
}

TEST_CASE("a full disk of the database is a kind of finding of its own") {
  auto situation = quiet();
  situation.instances[0].trouble = std::string{disk_full_problem} + " since noon";
  const auto found = findings_of(situation);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "disk_full");
  CHECK(found[0].severity == StatusFinding::Severity::problem);
}

TEST_CASE("dead letters, a backlog and quarantine are remarks") {
  auto situation = quiet();
  situation.handlers[0].dead = {12, false};
  situation.handlers[0].oldest_due_age = minutes{90};
  situation.quarantine = {{{"orders", "no_id", 99'999}, {"orders", "bad_id", 1}}, {100'000, true}};
  const auto verdict = judge(situation);
  CHECK(verdict.is_well());
  CHECK(verdict.sentence() ==
        "no problems; handler billing is 90 minutes behind; handler billing has 12 dead letters; at least 100000 in "
        "quarantine: 99999 of topic orders, reason no_id, 1 of topic orders, reason bad_id");
}

TEST_CASE("a retired handler causes no finding") {
  auto situation = quiet();
  situation.handlers[0].dead = {12, false};
  situation.handlers[0].retired_at = 1;
  CHECK(judge(situation).sentence() == "all is well");
}

TEST_CASE("a retired handler is a remark while a live daemon still configures it") {
  auto situation = quiet();
  situation.retired.push_back(situation.handlers[0]);
  situation.retired[0].name = "receipt";
  situation.retired[0].handler_id = 7;
  situation.retired[0].retired_at = 1;
  CHECK(judge(situation).findings.empty());
  situation.instances[0].handlers = {8, 7};
  situation.instances[0].worker = {"host-a", 42};
  const auto findings = judge(situation).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "handler_retired");
  CHECK(findings[0].message == "handler receipt is retired, and still configured on host-a (process 42)");
  CHECK(findings[0].remedy == "inboxd handlers restore receipt, or remove it from the configuration");
  CHECK(judge(situation).is_well());
  situation.instances[0].unseen = minutes{2};
  CHECK(judge(situation).sentence() == "no daemon is running");
}

TEST_CASE("the finding on quarantined records of a topic and reason names the setting to change") {
  auto situation = quiet();
  situation.quarantine = {{{"orders", "no_id", 12}}, {12, false}};
  const auto findings = judge(situation).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "quarantine");
  CHECK(findings[0].message == "12 in quarantine, all of topic orders, reason no_id");
  CHECK(findings[0].remedy ==
        "set on_missing_id or "
        "custom.id (with envelope: custom) for topic orders, restart the daemon, then inboxd quarantine retry "
        "--topic orders");
}

TEST_CASE("a handler with pending events that no live daemon runs is a problem") {
  auto situation = quiet();
  situation.handlers[0].handler_id = 7;
  situation.handlers[0].retrying = {3, false};
  situation.instances[0].handlers = {8, 7};
  CHECK(judge(situation).is_well());
  situation.instances[0].handlers = {8};
  CHECK(judge(situation).sentence() == "no daemon runs handler billing, which has 3 pending events");
  CHECK_FALSE(judge(situation).is_well());
  situation.instances.push_back(situation.instances[0]);
  situation.instances[1].handlers = {7};
  CHECK(judge(situation).is_well());
  situation.instances[1].unseen = minutes{2};
  CHECK_FALSE(judge(situation).is_well());

  situation.handlers[0].retrying = {};
  CHECK(judge(situation).is_well());
  situation.handlers[0].backfill = 5;
  CHECK_FALSE(judge(situation).is_well());
}

TEST_CASE("a subscription to a topic that no live daemon reads is a problem, with the nearest name") {
  auto situation = quiet();
  situation.handlers[0].topics = {"orders", "ordres", "returns*"};
  CHECK(judge(situation).is_well());  // the daemon has not recorded its topics yet
  situation.instances[0].topics = {"orders", "returns.eu"};
  const auto findings = judge(situation).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "topic_not_read");
  CHECK_FALSE(judge(situation).is_well());
  CHECK(findings[0].message ==
        "handler billing subscribes to topic ordres, which no daemon reads (did you mean orders?)");
  situation.instances[0].topics = {"^ord"};
  CHECK(judge(situation).is_well());
  situation.instances[0].topics = {"^returns"};
  CHECK(judge(situation).findings.size() == 2);
}

TEST_CASE("stored events that no handler subscribes to are a problem, with the nearest subscription") {
  auto situation = quiet();
  situation.handlers[0].types = {"OrderPlaced", "OrderCancelled"};
  situation.unsubscribed = {{"orders", "order.placed", 42}, {"returns", "", 1}};
  const auto verdict = judge(situation);
  CHECK_FALSE(verdict.is_well());
  REQUIRE(verdict.findings.size() == 2);
  CHECK(verdict.findings[0].kind == "events_without_handler");
  CHECK(verdict.findings[0].message ==
        "no handler subscribes to 42 stored events of topic orders, type order.placed; handler billing subscribes to "
        "OrderPlaced: did you mean order.placed?");
  CHECK(verdict.findings[1].message == "no handler subscribes to 1 stored event of topic returns, without a type");
  CHECK(document_of(situation).at("unsubscribed").at(0) ==
        Document({{"topic", "orders"}, {"event_type", "order.placed"}, {"events", 42}}));
  situation.handlers[0].topics = {"returns"};
  CHECK(judge(situation).findings[0].message ==
        "no handler subscribes to 42 stored events of topic orders, type order.placed");
}

TEST_CASE("problems come first, each with its kind, and the document has all of them") {
  auto situation = quiet();
  situation.handlers[0].dead = {12, false};
  situation.instances.clear();
  const auto document = document_of(situation);
  CHECK(document.at("is_well") == false);
  CHECK(document.at("problems") == Document::array({"no daemon is running"}));
  CHECK(document.at("remarks") == Document::array({"handler billing has 12 dead letters"}));
  CHECK(document.at("findings").at(0).at("severity") == "problem");
  CHECK(document.at("findings").at(0).at("kind") == "no_live_daemon");
  CHECK(document.at("findings").at(1) == Document({{"severity", "remark"},
                                                   {"kind", "dead_letters"},
                                                   {"message", "handler billing has 12 dead letters"},
                                                   {"remedy", "inboxd dead list --handler billing"},
                                                   {"since", nullptr}}));
}

TEST_CASE("a halt comes with the command that ends it") {
  auto partition = quiet().partitions[0];
  CHECK(advice_for(partition).empty());
  partition.halted_reason = "records are gone";
  CHECK(advice_for(partition) == "continues by itself once the cause is removed; the daemon's log says more");
  partition.gap = event::OffsetRange{100, 110};
  CHECK(advice_for(partition) == "inboxd partitions accept-gap orders 3");
  partition.gap.reset();
  partition.new_incarnation = "9oSX==";
  CHECK(advice_for(partition) == "inboxd partitions accept-recreated orders");
}

TEST_CASE("lag is the high watermark minus the position, and unknown if the watermark is missing or old") {
  auto partition = quiet().partitions[0];
  CHECK(partition.lag() == 20);
  partition.high_watermark = 90;
  CHECK(partition.lag() == 0);
  partition.observed_age = seconds{10};
  CHECK(partition.lag() == 0);
  partition.observed_age = seconds{11};
  CHECK_FALSE(partition.lag());
  partition.observed_age = seconds{0};
  partition.any_live = false;  // records may have arrived since the last daemon ended
  CHECK_FALSE(partition.lag());
  partition.any_live = true;
  partition.high_watermark.reset();
  CHECK_FALSE(partition.lag());
}

TEST_CASE("an open transaction that holds a partition back for a minute is a remark with the commands that end it") {
  auto situation = quiet();
  auto& partition = situation.partitions[0];
  partition.last_stable_offset = 100;
  partition.held_since = 1'700'000'000'000'000;
  partition.held_for = seconds{59};
  CHECK(judge(situation).findings.empty());
  partition.held_for = seconds{125};
  const auto findings = judge(situation).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "transaction_open");
  CHECK(findings[0].message ==
        "an open transaction holds orders/3 back at offset 100 since 2023-11-14T22:13:20Z (2 minutes); 20 records "
        "wait");
  CHECK(findings[0].remedy ==
        "kafka-transactions.sh describe-producers --topic orders --partition 3 names the producer; abort --topic "
        "orders --partition 3 --start-offset 100 ends its transaction");
  CHECK(judge(situation).is_well());
  partition.position = 99;  // before the transaction
  CHECK(judge(situation).findings.empty());
  partition.position = 100;
  partition.observed_age = minutes{1};
  CHECK(judge(situation).findings.empty());
}

TEST_CASE("the document has every field of the table") {
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
