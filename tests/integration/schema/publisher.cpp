// A role that may only publish, and every function of the schema.
#include <catch2/catch_test_macros.hpp>

#include "integration/support/roles_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The content of the stored event; its bytes are printed in hexadecimal.
constexpr const char* secret = "a-secret";
constexpr const char* secret_in_hex = "612d736563726574";

/// An event in the inbox: pending and leased, with an edit.
struct StoredEvent {
  std::string shard, delivery, fence;
};

StoredEvent store_event(Inbox& inbox) {
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1, secret).deliver_to(handler).store(inbox.connection());
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  inbox.database().run(
      "update inbox.event set key = payload, headers = payload, subject = convert_from(payload, 'UTF8')");
  inbox.database().run(
      "insert into inbox.edit (handler_id, shard_id, \"offset\", event_id, payload, received_at, edited_by) "
      "select $1::int, shard_id, \"offset\", event_id, payload, received_at, 'ann' from inbox.event",
      {std::to_string(handler)});
  const auto& key = claimed.runs.at(0).key;
  return {std::to_string(shard), std::to_string(key.delivery_id), std::to_string(key.fence)};
}

/// A value that finds the stored event, if a function takes it as the parameter of that name and type.
std::string argument(const StoredEvent& event, const std::string& name, const std::string& type) {
  if (name == "p_fence" || name == "p_first" || name == "p_offset") return "array[0::bigint]";
  if (name == "p_end") return "array[9::bigint]";
  if (name == "p_delivery") return "array[" + event.delivery + "::bigint]";
  if (name == "p_edit") return "array[1::bigint]";
  if (name == "p_from") return "'-infinity'::timestamptz";
  if (name == "p_to") return "'infinity'::timestamptz";
  if (type == "integer") return event.shard;
  if (type == "integer[]") return "array[" + event.shard + "]";
  if (type == "bigint") return "0::bigint";
  if (type == "bigint[]") return "array[0::bigint]";
  if (type == "text") return "'event'::text";
  if (type == "text[]") return "array['event']";
  if (type == "boolean") return "true";
  if (type == "interval") return "interval '1 day'";
  if (type == "timestamp with time zone") return "clock_timestamp()";
  if (type == "timestamp with time zone[]") return "array[clock_timestamp()]";
  return "null::" + type;
}

/// A function's result, or the error of calling it.
std::string result_of(Session& session, const std::string& call) {
  try {
    std::string found;
    for (const auto& row : session.rows("select f::text from " + call + " f")) found += row[0].value_or("") + "\n";
    return found;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

/// A call of each function, with such arguments.
std::vector<std::string> calls_of_all(Inbox& inbox, const StoredEvent& event) {
  std::vector<std::string> calls;
  for (const auto& function :
       inbox.database().rows("select oid, oid::regproc::text from pg_proc where pronamespace = $1::regnamespace and "
                             "prokind = 'f' and prorettype <> 'trigger'::regtype",
                             {inbox.database().schema()})) {
    std::string arguments;
    for (const auto& parameter : inbox.database().rows(
             "select coalesce(p.proargnames[i], ''), format_type(p.proargtypes[i - 1], null) from pg_proc p, "
             "generate_series(1, p.pronargs) i where p.oid = $1::oid order by i",
             {*function[0]})) {
      arguments += (arguments.empty() ? "" : ", ") + argument(event, *parameter[0], *parameter[1]);
    }
    calls.push_back(*function[1] + "(" + arguments + ")");
  }
  return calls;
}

}  // namespace

// fault: a role that may only publish
TEST_CASE("a role that may only publish reaches no event through any function of the schema") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const StoredEvent event = store_event(inbox);
  const auto calls = calls_of_all(inbox, event);
  CHECK(calls.size() > 50);
  Session publisher{roles.settings_of({"publisher"}).url, inbox.database().schema()};
  std::size_t allowed = 0;
  for (const std::string& call : calls) {
    CAPTURE(call);
    const std::string found = result_of(publisher, call);
    if (found.find("permission denied") == std::string::npos) ++allowed;
    CHECK(found.find(secret) == std::string::npos);
    CHECK(found.find(secret_in_hex) == std::string::npos);
  }
  CHECK(allowed > 5);
}

TEST_CASE("events of a call are read under the fence of their lease alone") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const StoredEvent event = store_event(inbox);
  const auto call = [&](const std::string& shard, const std::string& end, const std::string& fence) {
    return "inbox.call_events(array[" + shard + "], array[0::bigint], array[" + end +
           "::bigint], '-infinity', 'infinity', array[1], array[0::bigint], array[" + event.delivery +
           "::bigint], array[" + fence + "::bigint])";
  };
  Session publisher{roles.settings_of({"publisher"}).url, inbox.database().schema()};
  CHECK(result_of(publisher, call(event.shard, "1", event.fence)).find(secret_in_hex) != std::string::npos);
  CHECK(result_of(publisher, call(event.shard, "1", "0")).empty());
  CHECK(result_of(publisher, call(event.shard, "2", event.fence)).empty());  // more than the delivery has
  inbox.database().run("update inbox.delivery set owner = null, fence = 0");
  CHECK(result_of(publisher, call(event.shard, "1", "0")).empty());
  CHECK(result_of(publisher, call(event.shard, "1", event.fence)).empty());
}
