#include <catch2/catch_test_macros.hpp>

#include "inbox/answer.hpp"
#include "inbox/value_of.hpp"

namespace inboxd::inbox {

TEST_CASE("a word of the database that this version does not know is an error, and becomes no state") {
  const auto held = [](std::string_view word) { return value_of<bool>(word, {{"open", false}, {"held", true}}); };
  CHECK(held("held"));
  CHECK_FALSE(held("open"));
  for (const std::string_view unknown : {"", "hel", "closed"}) {
    const auto failure = failure_of([&] { held(unknown); });
    REQUIRE(failure);
    CHECK(failure->fault == Fault::stop);
    CHECK(failure->message == "this version does not know the database's word \"" + std::string{unknown} + '"');
  }
}

}  // namespace inboxd::inbox
