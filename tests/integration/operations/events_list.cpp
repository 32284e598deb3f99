// Filters of `events list` by key, handler and state.
#include <catch2/catch_test_macros.hpp>

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
  OperationRunner{inbox}.run("dead replay", {{"all", {"true"}}});  // the outcome stays, the state is the newer one
  CHECK(state("dead") == "");
  CHECK(state("due") == "6 5");
}

TEST_CASE("an unknown state or handler is refused with the known ones") {
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
