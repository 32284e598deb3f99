// Filters of `events list` by key, handler and state.
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "integration/operations/lanes_fixture.hpp"

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
