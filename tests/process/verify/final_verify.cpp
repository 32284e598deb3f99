// The check at the end of each process test.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A test that handles an event, then loses its id.
void lose_id(const char* reason_to_skip) {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.produce(1);
  fixture.wait_done();
  fixture.database.run("delete from inbox.ledger");
  if (reason_to_skip != nullptr) fixture.final_verify.skip(reason_to_skip);
}

}  // namespace

TEST_CASE("a process test fails at a contradiction that it leaves, unless it says why") {
  CHECK_THROWS_WITH(lose_id(nullptr), ContainsSubstring("event_without_id"));
  CHECK_NOTHROW(lose_id("loses an id"));
}
