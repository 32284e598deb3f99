#include "inbox/registrations.hpp"

#include <catch2/catch_test_macros.hpp>
#include <utility>

using namespace inboxd::inbox;

TEST_CASE("a database knows handler versions if it has each handler at that version or a later version") {
  CHECK(knows({{1, 7}, {2, 9}}, {{1, 7}, {2, 8}}));
  CHECK(knows({{1, 7}}, {}));
  CHECK_FALSE(knows({{1, 6}}, {{1, 7}}));
  CHECK_FALSE(knows({{2, 9}}, {{1, 7}}));
}

TEST_CASE("the newest version of each handler is kept until the database's versions are accepted") {
  Registrations registrations;
  registrations.note({{1, 7}, {2, 9}});
  registrations.note({{1, 6}});
  CHECK(registrations.newest() == HandlerVersions{{1, 7}, {2, 9}});
  registrations.accept({{1, 6}});
  CHECK(registrations.newest() == HandlerVersions{{1, 6}});
}

TEST_CASE("the revision changes whenever a registration or a newer version is added") {
  Registrations registrations;
  auto revision = registrations.revision();
  const auto is_another = [&] {
    const auto before = std::exchange(revision, registrations.revision());
    return before != revision;
  };
  registrations.note({{1, 7}});
  CHECK(is_another());
  registrations.note({{1, 7}});
  CHECK_FALSE(is_another());
  registrations.note({{1, 6}});
  CHECK_FALSE(is_another());
  registrations.note({{1, 8}});
  CHECK(is_another());
  Registered ours;
  ours.handler_id = 1;
  ours.changed_under = 8;
  registrations.set({ours});
  CHECK(is_another());
  CHECK(registrations.versions() == HandlerVersions{{1, 8}});
  registrations.replace({}, {});
  CHECK_FALSE(is_another());
  registrations.replace({ours}, {});
  CHECK(is_another());
}
