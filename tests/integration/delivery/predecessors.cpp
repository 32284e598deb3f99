#include <catch2/catch_test_macros.hpp>

#include "inbox/predecessors.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A lease of each kind, for less than the hour that a lease may last: of two sequences, of two deliveries, of a trial,
/// of calls, of local events and of the outbox.
void lease_all(Inbox& inbox, const std::string& owner, std::int32_t handler, int number) {
  const std::string text = "'" + owner + "'::uuid", later = "now() + interval '50 min'";
  const std::string id = std::to_string(handler), n = std::to_string(number);
  inbox.database().run(
      "insert into inbox.sequence (handler_id, sequence, owner, fence, leased_until) select " + id + ", s, " + text +
      ", 7, " + later + " from generate_series(" + n + " * 10, " + n + " * 10 + 1) s; "
      "insert into inbox.delivery (handler_id, shard_id, pending, events, claims, fence, owner, due_at, "
      "received_from, received_to) select " + id + ", 1, int8multirange(int8range(o, o + 1)), 1, 1, 7, " + text + ", " +
      later + ", now(), now() from generate_series(" + n + " * 10, " + n + " * 10 + 1) o; "
      "insert into inbox.handler_limit values (" + id + ") on conflict do nothing; "
      "insert into inbox.call_share (handler_id, owner, calls, wanted, served_at, leased_until) values (" + id + ", " +
      text + ", 1, 1, now(), " + later + ")");
}
void lease_single_rights(Inbox& inbox, const std::string& owner) {
  inbox.database().run(
      "update inbox.handler set fuse = 'trying', trial_owner = '" + owner + "', trial_until = now() + interval '1 d'; "
      "update inbox.relay set owner = '" + owner + "', fence = 7, leased_until = now() + interval '1 day'; "
      "update inbox.ingest_right set owner = '" + owner + "', fence = 7, leased_until = now() + interval '1 day'; "
      "update inbox.local_reader set owner = '" + owner + "', fence = 7, leased_until = now() + interval '1 day'");
}
std::int64_t leases_of(Inbox& inbox, const std::string& owner) {
  return inbox.database().number(
      "select (select count(*) from inbox.sequence where owner = $1::uuid and leased_until > now()) + (select count(*) "
      "from inbox.delivery where owner = $1::uuid and due_at > now()) + (select count(*) from inbox.call_share where "
      "owner = $1::uuid and leased_until > now()) + (select count(*) from inbox.relay where owner = $1::uuid and "
      "leased_until > now()) + (select count(*) from inbox.local_reader where owner = $1::uuid and "
      "leased_until > now()) + (select count(*) from inbox.ingest_right where owner = $1::uuid and "
      "leased_until > now()) + (select count(*) from inbox.handler where trial_owner = $1::uuid and "
      "trial_until > now())",
      {owner});
}

}  // namespace

TEST_CASE("end_leases ends all leases of a process that has gone, in bites, and no other's") {
  Inbox inbox;
  const auto handler = inbox.add_handler("h");
  const inbox::InstanceIdentity gone{base::random_uuid(), "host", 1, {}, "boot/1", ""};
  const inbox::InstanceIdentity self{base::random_uuid(), "host", 2, {}, "boot/1", ""};
  const std::string neighbour = base::random_uuid().text();
  inbox::register_handlers(inbox.connection(), {handler_named("h")}, "test", {}, gone);
  lease_all(inbox, gone.instance_id.text(), handler, 1);
  lease_all(inbox, neighbour, handler, 2);
  lease_single_rights(inbox, gone.instance_id.text());
  REQUIRE(leases_of(inbox, gone.instance_id.text()) == 9);
  const auto found = inbox::find_predecessors(inbox.connection(), self);
  REQUIRE(found.size() == 1);
  CHECK(found[0].instance_id == gone.instance_id);
  CHECK_FALSE(found[0].is_same_member);
  CHECK_FALSE(inbox::end_leases(inbox.connection(), {gone.instance_id}, self.instance_id, 1));
  CHECK(leases_of(inbox, gone.instance_id.text()) == 1);
  CHECK(inbox::find_predecessors(inbox.connection(), self).size() == 1);
  CHECK(inbox::end_leases(inbox.connection(), {gone.instance_id}, self.instance_id, 1));
  CHECK(leases_of(inbox, gone.instance_id.text()) == 0);
  CHECK(leases_of(inbox, neighbour) == 5);
  CHECK(inbox.database().number("select count(*) from inbox.delivery where claims = 1 and fence = 7") == 4);
  CHECK(inbox::find_predecessors(inbox.connection(), self).empty());
}

TEST_CASE("a predecessor is of the same boot, or of the same member, and has not said that it stops") {
  Inbox inbox;
  inbox.add_handler("h");
  const auto found = [&](const std::string& boot, const std::string& member) {
    return inbox::find_predecessors(inbox.connection(), {base::random_uuid(), "host", 2, {}, boot, member}).size();
  };
  const inbox::InstanceIdentity daemon{base::random_uuid(), "host", 1, {}, "boot/1", "m of g"};
  inbox::register_handlers(inbox.connection(), {handler_named("h")}, "test", {}, daemon);
  CHECK(found("boot/1", "") == 1);
  CHECK(found("boot/2", "m of g") == 1);
  CHECK(found("boot/2", "m of other") == 0);
  CHECK(found("", "") == 0);
  CHECK(inbox::find_predecessors(inbox.connection(), daemon).empty());
  inbox::instance_heartbeat(inbox.connection(), daemon, true);
  CHECK(found("boot/1", "m of g") == 0);
}

TEST_CASE("a process of the same member that sends a heartbeat after its leases were ended is found, once it does") {
  Inbox inbox;
  inbox.add_handler("h");
  const inbox::InstanceIdentity older{base::random_uuid(), "host-a", 1, {}, "boot/1", "m of g"};
  const inbox::InstanceIdentity newer{base::random_uuid(), "host-b", 2, {}, "boot/2", "m of g"};
  const auto living = [&] { return inbox::find_living_predecessors(inbox.connection(), newer.instance_id); };
  inbox::register_handlers(inbox.connection(), {handler_named("h")}, "test", {}, older);
  const auto found = inbox::find_predecessors(inbox.connection(), newer);
  REQUIRE(found.size() == 1);
  CHECK(found[0].is_same_member);
  CHECK_FALSE(found[0].is_same_boot);
  REQUIRE(inbox::end_leases(inbox.connection(), {older.instance_id}, newer.instance_id, 100));
  inbox::register_handlers(inbox.connection(), {handler_named("h")}, "test", {}, newer);
  CHECK(living().empty());
  inbox::instance_heartbeat(inbox.connection(), older, true);
  REQUIRE(living().size() == 1);
  CHECK(living()[0].host == "host-a");
}

TEST_CASE("end_leases knows every table with leases") {
  Inbox inbox;
  CHECK(inbox.database().text(
            "select string_agg(table_name, ', ' order by table_name collate \"C\") from information_schema.columns "
            "where table_schema = $1 and column_name = 'leased_until'",
            {inbox.database().schema()}) == "call_share, ingest_right, local_reader, relay, sequence");
}
