// Live daemons that configure a handler differently, and the effects of that.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "inbox/handler_order.hpp"
#include "inbox/repeated_registration.hpp"
#include "integration/operations/operation_runner.hpp"
#include "operations/handler_agreement.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

struct Daemons {
  void start(const inbox::InstanceIdentity& daemon, config::Handler handler) {
    inbox::register_handlers(inbox.connection(), {handler}, "daemon on " + daemon.host, {}, daemon);
    const auto is_same = [&](const auto& each) { return each.instance_id == daemon.instance_id; };
    if (std::none_of(running.begin(), running.end(), is_same))
      running.push_back(daemon);
    beat(daemon);
  }
  void beat(const inbox::InstanceIdentity& daemon) {
    const auto handler = static_cast<std::int32_t>(inbox.database().number("select handler_id from inbox.handler"));
    inbox::instance_heartbeat(inbox.connection(), daemon, false, std::nullopt, {handler});
  }
  void stop(const inbox::InstanceIdentity& daemon) {
    inbox::instance_heartbeat(inbox.connection(), daemon, true);
    std::erase_if(running, [&](const auto& each) { return each.instance_id == daemon.instance_id; });
  }
  /// `kind: message`, then the remedy. On a machine that stalled, a daemon must not count as gone.
  std::vector<std::string> findings() {
    for (const auto& each : running) beat(each);
    std::vector<std::string> out;
    const auto status = OperationRunner{inbox}.run("status");
    for (const auto& finding : status.document.at("findings")) {
      out.push_back(finding.at("kind").get<std::string>() + ": " + finding.at("message").get<std::string>());
      if (!finding.at("remedy").is_null()) out.push_back(finding.at("remedy"));
    }
    return out;
  }
  std::string time_of_change() {
    return inbox.database().text(
        "select to_char(to_timestamp(changed_under / 1000000.0) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS') "
        "from inbox.handler");
  }

  Inbox inbox;
  std::vector<inbox::InstanceIdentity> running;
  inbox::InstanceIdentity one{base::random_uuid(), "host-a", 1, {"orders", "other"}};
  inbox::InstanceIdentity two{base::random_uuid(), "host-b", 2, {"orders", "other"}};
};

config::Handler receipt(std::vector<std::string> topics = {"orders"}) {
  config::Handler out = handler_named("receipt");
  out.mode = config::Mode::sequential;
  out.topics = std::move(topics);
  return out;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("status names the daemons of which a newer registration took a handler's topic, and the back-fill") {
  Daemons daemons;
  daemons.start(daemons.one, receipt());
  CHECK(daemons.findings().empty());
  daemons.start(daemons.two, receipt({"other"}));
  const std::string taken = daemons.time_of_change();
  auto found = daemons.findings();
  REQUIRE(found.size() == 2);
  CHECK(contains(found[0], "handler_rerouted: handler receipt gets no events of topic orders since " + taken));
  CHECK(contains(found[0],
                 "host-a (process 1) subscribes to them, but the newest registration of host-b (process 2) to topic "
                 "other"));
  CHECK(contains(found[1], "inboxd handlers backfill receipt --from " + taken + "Z --to "));
  CHECK(contains(found[1], " --topic orders"));

  daemons.stop(daemons.two);
  daemons.start(daemons.one, receipt());
  found = daemons.findings();
  REQUIRE(found.size() == 2);
  CHECK(contains(found[0], "subscription_gap: handler receipt did not subscribe to topic orders from " + taken));
  CHECK(contains(found[1], "inboxd handlers backfill receipt --from " + taken + "Z --to "));

  const auto gap = operations::read_gaps(daemons.inbox.connection());
  REQUIRE(gap.size() == 1);
  daemons.inbox.database().run(
      "insert into inbox.backfill_request (handler_id, from_time, to_time, topics, again, offsets, ended_at) select "
      "handler_id, to_timestamp($1::bigint / 1000000), to_timestamp($2::bigint / 1000000 + 1), '{orders}', false, 0, "
      "now() from inbox.handler",
      {std::to_string(gap[0].from), std::to_string(gap[0].to)});
  CHECK(daemons.findings().empty());
  // As by `handlers backfill` without --from.
  daemons.inbox.database().run("update inbox.backfill_request set from_time = '-infinity'");
  CHECK(daemons.findings().empty());
}

TEST_CASE("status names a daemon that leaves a handler alone because of its order settings") {
  Daemons daemons;
  daemons.start(daemons.one, receipt());
  config::Handler newer = receipt();
  newer.on_failure = config::OnFailure::park;
  daemons.start(daemons.two, newer);
  const auto found = daemons.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "handler_order_differs: host-a (process 1) does not run handler receipt: its order is "
        "sequential/partition/block/unordered/key, and that of the newest registration of host-b (process 2) "
        "sequential/partition/park/unordered/key");
  daemons.start(daemons.one, newer);
  CHECK(daemons.findings().empty());
}

TEST_CASE(
    "a repeated registration leaves a handler's row, even a restored row, to a newer registration of a live daemon") {
  Daemons daemons;
  config::Handler newer = receipt({"orders", "other"});
  newer.on_failure = config::OnFailure::park;
  auto& database = daemons.inbox.database();
  const auto repeat = [&](const inbox::InstanceIdentity& daemon, const config::Handler& handler,
                          const std::vector<inbox::Registered>& before) {
    return inbox::repeat_registrations(daemons.inbox.connection(), {handler}, "test", before, daemon);
  };
  const auto row = [&] {
    return database.text("select topics::text || order_settings || changed_under from inbox.handler");
  };
  const auto before = inbox::register_handlers(daemons.inbox.connection(), {receipt()}, "test", {}, daemons.one);
  daemons.start(daemons.two, newer);
  const std::string wanted = row();
  CHECK(repeat(daemons.one, receipt(), before).at(0).changed_under == before.at(0).changed_under);
  CHECK(repeat(daemons.one, receipt(), {}).at(0).change.empty());  // as after a restoration
  CHECK(row() == wanted);
  CHECK(repeat(daemons.two, newer, {}).at(0).change.empty());
  CHECK(row() == wanted);

  daemons.stop(daemons.two);
  CHECK(repeat(daemons.one, receipt(), before).at(0).changed_under == before.at(0).changed_under);
  CHECK(row() == wanted);
  CHECK_FALSE(repeat(daemons.one, receipt(), {}).at(0).change.empty());
  CHECK(row() != wanted);
}

TEST_CASE("of live daemons that disagree about an order whose daemons are gone, only the newest takes it, and once") {
  Daemons daemons;
  auto& database = daemons.inbox.database();
  config::Handler block = receipt(), park = receipt({"orders", "other"}), skip = receipt();
  park.on_failure = config::OnFailure::park;
  skip.on_failure = config::OnFailure::skip;
  const auto take = [&](const inbox::InstanceIdentity& daemon, const config::Handler& handler) {
    std::vector<inbox::Registered> own(1);
    own[0].handler_id = static_cast<std::int32_t>(database.number("select handler_id from inbox.handler"));
    own[0].name = "receipt";
    own[0].handler = handler;
    return !inbox::take_orphaned_orders(daemons.inbox.connection(), own, "test", daemon.instance_id)[0].change.empty();
  };
  const inbox::InstanceIdentity three{base::random_uuid(), "host-c", 3, {"orders", "other"}};
  daemons.start(daemons.one, block);
  daemons.start(daemons.two, skip);
  daemons.start(three, park);
  CHECK_FALSE(take(daemons.one, block));
  daemons.stop(three);
  CHECK_FALSE(take(daemons.two, skip));  // it may only restart
  database.run("update inbox.instance set last_seen_at = last_seen_at - interval '16 s' where stopped_at is not null");
  CHECK_FALSE(take(daemons.one, block));
  CHECK(take(daemons.two, skip));
  CHECK(database.text("select topics::text || ' ' || order_settings from inbox.handler") ==
        "{orders,other} sequential/partition/skip/unordered/key");
  CHECK_FALSE(take(daemons.two, skip));
  CHECK_FALSE(take(daemons.one, block));
}

TEST_CASE("status names the keys in which daemons differ for longer than a minute; secrets do not reach the database") {
  Daemons daemons;
  config::Handler older = receipt(), newer = receipt();
  older.settings = {{"url", "http://localhost/a"}, {"password", "open-sesame"}};
  newer.settings = {{"url", "http://localhost/b"}, {"password", "other-secret"}};
  newer.concurrency = 3;
  daemons.start(daemons.one, older);
  daemons.start(daemons.two, newer);
  CHECK(daemons.findings().empty());
  daemons.inbox.database().run("update inbox.instance set registered_at = registered_at - interval '2 min'");
  const auto found = daemons.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "handler_settings_differ: daemons configure handler receipt differently (concurrency, settings.url): host-b "
        "(process 2), host-a (process 1)");
  CHECK(daemons.inbox.database().number("select count(*) from inbox.instance where settings::text ~ 'sesame'") == 0);
  daemons.stop(daemons.two);
  CHECK(daemons.findings().empty());
}

TEST_CASE("status reports rows that contradict their handler's order until they are put right") {
  Daemons daemons;
  daemons.start(daemons.one, receipt());
  const auto handler =
      static_cast<std::int32_t>(daemons.inbox.database().number("select handler_id from inbox.handler"));
  Batch{daemons.inbox}.at(daemons.inbox.add_shard("orders"), 0).events(2).deliver_to(handler).store(
      daemons.inbox.connection());
  daemons.inbox.database().run("update inbox.delivery set sequence = 0, due_at = 'infinity'");
  REQUIRE(daemons.findings().size() == 2);
  CHECK(contains(daemons.findings()[0], "rows_misplaced: handler receipt has events in a sequence that contradicts"));
  CHECK(inbox::repair_order(daemons.inbox.connection(), handler) == 1);
  CHECK(daemons.findings().empty());
}
