// Filters of `events list` by key, handler and state.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "integration/operations/lanes_fixture.hpp"
#include "statements.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using End = LanesFixture::End;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

/// The offsets of the listed events, newest first.
std::string listed(Inbox& inbox, const Given& given) {
  std::string out;
  const auto answer = OperationRunner{inbox}.run("events list", given);
  for (const auto& event : answer.document.at("events")) {
    out += (out.empty() ? "" : " ") + std::to_string(event.at("offset").get<int>());
  }
  return out;
}

/// As sql/README.md documents it.
void add_key_index(Inbox& inbox) {
  inbox.database().run("create index event_key on inbox.event (substr(key, 1, 256), received_at)");
}

}  // namespace

TEST_CASE("events are listed by key, as text or hexadecimal") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abcab");
  CHECK(listed(inbox, {{"key", {"a"}}}) == "3 0");
  CHECK(listed(inbox, {{"key-hex", {"62"}}}) == "4 1");
  CHECK(listed(inbox, {{"key", {"b"}}, {"limit", {"1"}}}) == "4");
  CHECK(listed(inbox, {{"key", {"x"}}}) == "");
  CHECK(OperationRunner{inbox}.run("events list", {{"key", {"a"}}, {"key-hex", {"61"}}}).code == ExitCode::usage);
}

TEST_CASE("events are listed by their present state for a handler") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("aab");
  lanes.run('a', End::retried);
  lanes.store("cc");
  const auto state = [&](const std::string& name) {
    return listed(inbox, {{"handler", {"receipt"}}, {"state", {name}}});
  };
  CHECK(state("retrying") == "0");
  CHECK(state("waiting") == "1");
  CHECK(state("done") == "2");
  CHECK(state("due") == "4 3");
  CHECK(listed(inbox, {{"handler", {"receipt"}}}) == "4 3 2 1 0");
  CHECK(listed(inbox, {{"state", {"due", "done"}}}) == "4 3 2");
  const auto runs = lanes.claim();
  CHECK(state("leased") == "4 3");
  for (const auto& run : runs) inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  CHECK(state("done") == "4 3 2");

  lanes.store("dd");
  lanes.run('d', End::parks);
  CHECK(state("dead") == "5");
  CHECK(state("parked") == "6");
  OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}});  // the outcome stays, the state is newer
  CHECK(state("dead") == "");
  CHECK(state("due") == "6 5");
}

TEST_CASE("an unknown state or handler is refused with the known names") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("a");
  OperationRunner runner{inbox};
  CHECK(runner.run("events list", {{"state", {"finished"}}}).message.starts_with("events list: --state takes due, "));
  CHECK(runner.run("events list", {{"handler", {"recepit"}}}).document.at("did_you_mean") == "receipt");
}

TEST_CASE("a search by state ends at the limit of events to search, and says so") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1000).deliver_to(handler).store(inbox.connection());
  const auto answer = OperationRunner{inbox}.run("events list", {{"state", {"done"}}, {"search", {"100"}}});
  CHECK(answer.document.at("events").empty());
  CHECK(answer.document.at("complete") == false);
  CHECK(answer.document.at("looked_at") == 100);
}

TEST_CASE("a search that reached its limit names the time to continue from, and misses no event") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  for (int i = 0; i < 40; ++i) lanes.store("aab");  // batches with a single time each
  OperationRunner runner{inbox};
  Given given{{"key", {"a"}}, {"search", {"20"}}, {"limit", {"1000"}}};
  std::set<int> seen;
  for (int steps = 1;; ++steps) {
    REQUIRE(steps <= 12);
    const auto answer = runner.run("events list", given);
    for (const auto& event : answer.document.at("events")) seen.insert(event.at("offset").get<int>());
    if (answer.document.at("complete") == true) break;
    const auto until = answer.document.at("next_until").get<std::string>();
    CHECK(answer.message.ends_with("20 events were searched; search on with --until " + until + ", or raise --search"));
    given["until"] = {until};
  }
  CHECK(seen.size() == 80);
  CHECK(runner.run("events list", {{"type", {"none"}}, {"search", {"20"}}, {"until", given["until"]}})
            .document.at("events")
            .empty());
}

TEST_CASE("events with the same time that exceed the search make it ask for more, not for an earlier time") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1000).store(inbox.connection());
  OperationRunner runner{inbox};
  Given given{{"type", {"none"}}, {"search", {"100"}}};
  given["until"] = {runner.run("events list", given).document.at("next_until").get<std::string>()};
  const auto answer = runner.run("events list", given);
  CHECK(answer.document.at("complete") == false);
  CHECK(answer.message.ends_with("only the newest 100 events were searched; raise --search"));
}

TEST_CASE("with the documented index, a search by key finds events of all days beyond the limit") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("k" + std::string(500, 'a') + "k");
  const std::string long_key(5'000, 'k');
  inbox.database().run("update inbox.event set key = convert_to($1, 'UTF8') where \"offset\" = 3", {long_key});
  inbox.database().run("update inbox.event set received_at = received_at - interval '1 day' where \"offset\" = 0");
  const Given given{{"key", {"k"}}, {"search", {"20"}}};
  REQUIRE(listed(inbox, given) == "501");
  add_key_index(inbox);
  CHECK(listed(inbox, given) == "501 0");
  CHECK(listed(inbox, {{"key", {long_key}}}) == "3");
  CHECK(listed(inbox, {{"key", {"k"}}, {"topic", {"orders"}}, {"type", {"none"}}}) == "");
  CHECK(listed(inbox, {{"key", {"k"}}, {"handler", {"receipt"}}, {"state", {"due"}}}) == "501 0");
  const auto answer =
      OperationRunner{inbox}.run("events list", {{"key", {"a"}}, {"search", {"20"}}, {"limit", {"30"}}});
  CHECK(answer.document.at("events").size() == 20);
  CHECK(answer.document.at("complete") == false);
}

TEST_CASE("pages of events with the same time repeat none and miss none, also of several partitions and days") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders", 0), 0).events(7).at(inbox.add_shard("orders", 1), 0).events(7);
  batch.store(inbox.connection());
  inbox.database().run("update inbox.event set received_at = received_at - interval '1 day' where \"offset\" < 3");
  OperationRunner runner{inbox};
  for (const Given& filter : {Given{}, Given{{"type", {"Happened"}}}}) {
    Given given = filter;
    const auto whole = runner.run("events list", given).document.at("events");
    REQUIRE(whole.size() == 14);
    given["limit"] = {"4"};
    auto seen = operations::Document::array();
    for (;;) {
      const auto page = runner.run("events list", given).document;
      for (const auto& event : page.at("events")) seen.push_back(event);
      if (page.at("next").is_null()) break;
      given["before"] = {page.at("next").get<std::string>()};
      REQUIRE(seen.size() < 20);
    }
    CHECK(seen == whole);
  }
  CHECK(runner.run("events list", {{"before", {"1/2"}}}).code == ExitCode::usage);
}

TEST_CASE("a page in the middle of many events reads a few blocks by index") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  for (int i = 0; i < 20; ++i) {
    Batch batch{inbox};
    batch.at(shard, i * 1000).events(1000).store(inbox.connection());
  }
  auto& database = inbox.database();
  database.run("analyze inbox.event");
  const auto received_at = [&](const std::string& offset) {
    return database.number("select extract(epoch from received_at) * 1000000 from inbox.event where \"offset\" = $1",
                           {offset});
  };
  const auto at = received_at("9500");
  const auto day = at - at % 86'400'000'000;
  const Session::Parameters parameters{
      "{" + std::to_string(shard) + "}", std::to_string(day), std::to_string(at + 1), "{}", "20", "20",
      std::to_string(day), std::to_string(day + 86'400'000'000), std::nullopt, std::nullopt, "{}", "false", "false",
      std::to_string(at), std::to_string(shard), "9500"};
  const auto plan = database.rows("explain (analyze, buffers, costs off, timing off, summary off) " +
                                      std::string{inbox::statements::op_events_newest.sql},
                                  parameters);
  const auto buffers = blocks_read(plan);
  WARN("buffers read for a page of 20 in the middle of 20000 events: " << buffers);
  CHECK(buffers < 300);  // the table has more than 300, its index 80
}
