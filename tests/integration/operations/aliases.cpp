// A handler's former name, wherever a name is taken.
#include <catch2/catch_test_macros.hpp>

#include "integration/operations/lanes_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using End = LanesFixture::End;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

void rename(Inbox& inbox, const std::string& from, const std::string& to) {
  CHECK(inbox.database().number("with renamed as (update inbox.handler set name = $2, aliases = array[$1::text] "
                                "where name = $1 returning 1) select count(*) from renamed",
                                {from, to}) == 1);
}

}  // namespace

TEST_CASE("each command answers to a handler's former name as to its present name") {
  Inbox inbox;
  LanesFixture lanes{inbox, "mail"};
  lanes.store("aabb");
  lanes.run('a', End::parks);
  lanes.store("c");
  lanes.run('c', End::retried);
  config::Handler nightly;
  nightly.name = "night";
  nightly.mode = config::Mode::batch;
  inbox::register_handlers(inbox.connection(), {nightly});
  rename(inbox, "mail", "receipt");
  rename(inbox, "night", "nightly");
  rename(inbox,
         inbox.database().text("select name from inbox.handler where handler_id = $1",
                               {std::to_string(inbox.add_handler("bygone"))}),
         "gone");
  inbox.database().run("update inbox.handler set retired_at = now() where name = 'gone'");
  const auto parks = inbox.database().text("select dead_letter_id::text from inbox.dead_letter where parks");
  const auto retrying = lanes.event_id(4);

  struct Case {
    std::string verb;
    std::string former = "mail";
    std::string present = "receipt";
    Given more = {};
  };
  for (const Case& each : std::vector<Case>{
           {"events list"},
           {.verb = "events list", .more = {{"state", {"done"}}}},
           {.verb = "events retry", .more = {{"id", {retrying}}}},
           {.verb = "events skip", .more = {{"id", {retrying}}, {"reason", {"bad"}}}},
           {"dead list"},
           {.verb = "dead list", .more = {{"group-by", {"error"}}}},
           {"dead replay"},
           {"dead discard"},
           {.verb = "dead edit", .more = {{"id", {parks}}, {"payload", {"{}"}}}},
           {"lanes list"},
           {"lanes release"},
           {.verb = "handlers pause", .more = {{"reason", {"import"}}}},
           {"handlers resume"},
           {"handlers run", "night", "nightly"},
           {"handlers retire"},
           {"handlers restore", "bygone", "gone"},
       }) {
    CAPTURE(each.verb);
    OperationRunner runner{inbox};
    Given given = each.more;
    if (!each.verb.ends_with(" list")) given["dry-run"] = {"true"};
    given["handler"] = {each.former};
    const auto by_former = runner.run(each.verb, given);
    given["handler"] = {each.present};
    const auto by_present = runner.run(each.verb, given);
    CHECK(by_former.code == ExitCode::done);
    CHECK(by_former.message == by_present.message);
    CHECK(by_former.document == by_present.document);
    given["handler"] = {"unknown"};
    CHECK(runner.run(each.verb, given).code == ExitCode::no);
  }
}

TEST_CASE("pauses by SQL take a former name") {
  Inbox inbox;
  inbox.add_handler("mail");
  rename(inbox, "mail", "receipt");
  auto& database = inbox.database();
  CHECK(database.text("select inbox.pause_handler('mail', 'import')") == "t");
  CHECK(database.text("select handler from inbox.backlog where paused_reason = 'import'") == "receipt");
  CHECK(database.text("select inbox.resume_handler('mail')") == "resumed");
  CHECK(database.text("select string_agg(distinct target, ' ') from inbox.audit where operation ~ 'pause|resume'") ==
        "receipt");
}

TEST_CASE("a name is its handler's, though it is a former name of another") {
  Inbox inbox;
  inbox.add_handler("mail");
  rename(inbox, "mail", "receipt");
  inbox.add_handler("other");
  inbox.database().run("update inbox.handler set name = 'mail' where name = 'other'");
  CHECK(OperationRunner{inbox}.run("handlers pause", {{"handler", {"mail"}}, {"reason", {"import"}}}).code ==
        ExitCode::done);
  CHECK(inbox.database().text("select string_agg(handler, ' ') from inbox.backlog where paused_reason = 'import'") ==
        "mail");
}
