#include <catch2/catch_test_macros.hpp>

#include "integration/support/inbox.hpp"
#include "statements.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: a zombie relay
TEST_CASE("a relay whose lease another process took, or it took again, deletes no message") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto message = database.text("select inbox.publish('orders', 'k'::bytea, 'hello'::bytea)");
  const auto other = base::random_uuid();
  const auto take = [&](const base::Uuid& owner, const std::string& fence, const std::string& lease) {
    return database.rows(inbox::statements::relay_take.sql, {owner.text(), fence, lease, "1000000"}).size() == 1;
  };
  const auto deletes = [&](const base::Uuid& owner, const std::string& fence) {
    const auto number = database.text("select outbox_id from inbox.outbox");
    return database.rows(inbox::statements::relay_done.sql,
                         {owner.text(), fence, "{" + number + "}", "{" + message + "}", "{}", "{}"});
  };
  const auto messages = [&] { return database.number("select count(*) from inbox.outbox"); };
  REQUIRE(take(inbox.owner, "1", "-1000"));
  SECTION("another process") {
    REQUIRE(take(other, "2", "60000"));
    CHECK(deletes(inbox.owner, "1").empty());
    CHECK(messages() == 1);
    CHECK(deletes(other, "2").at(0).at(2) == "1");
  }
  SECTION("the same process") {
    REQUIRE(take(inbox.owner, "2", "60000"));
    CHECK(deletes(inbox.owner, "1").empty());
    CHECK(messages() == 1);
    CHECK(deletes(inbox.owner, "2").at(0).at(2) == "1");
  }
  CHECK(messages() == 0);
}
