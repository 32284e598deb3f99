#include "base/presence.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>

using namespace inboxd::base;

TEST_CASE("a presence is seen as long as it lasts") {
  const Uuid id = random_uuid(), other = random_uuid();
  CHECK_FALSE(may_be_present(id));
  auto presence = std::make_unique<Presence>(id);
  REQUIRE(presence->is_shown());
  CHECK(may_be_present(id));
  CHECK(may_be_present(id));
  CHECK(is_present(id));
  CHECK_FALSE(is_present(other));
  CHECK_FALSE(may_be_present(other));
  presence.reset();
  CHECK_FALSE(may_be_present(id));
  CHECK_FALSE(is_present(id));
}

TEST_CASE("this boot has a name, and always the same") {
  CHECK(this_boot().find('/') == 36);
  CHECK(this_boot() == this_boot());
}
