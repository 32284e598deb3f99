#include "verify/state_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "support/test_environment.hpp"

using namespace inboxd;
using inboxd::verify::StateFile;

TEST_CASE("verified offsets are kept by partition and log, and start again with a topic that was created again") {
  const support::TempFolder folder;
  const std::string file = (folder / "verified").string();
  auto state = StateFile::read(file).value();
  CHECK(state.verified_to({"a/b", 3}, "log") == 0);
  state.set({"a/b", 3}, "log", 4711);
  state.set({"orders", 0}, "", 5);
  REQUIRE(state.write().ok());
  const auto again = StateFile::read(file).value();
  CHECK(again.verified_to({"a/b", 3}, "log") == 4711);
  CHECK(again.verified_to({"a/b", 3}, "other log") == 0);
  CHECK(again.is_of_other({"a/b", 3}, "other log"));
  CHECK_FALSE(again.is_of_other({"a/b", 3}, "log"));
  CHECK_FALSE(again.is_of_other({"a/b", 4}, "log"));
  CHECK(again.verified_to({"orders", 0}, "") == 5);
  CHECK(StateFile::read("").value().write().ok());
}

TEST_CASE("a file of another form, or a folder, is refused and named") {
  const support::TempFolder folder;
  const std::string file = (folder / "other").string();
  for (const char* const text :
       {"", "[]", "{}", "{\"partitions\": {\"orders\": 5}}", "{\"partitions\": {\"orders/0\": {}}}"}) {
    CAPTURE(text);
    std::ofstream{file} << text;
    const auto state = StateFile::read(file);
    REQUIRE_FALSE(state.ok());
    CHECK(state.problem().message == "--state " + file + ": not a state of `verify`; name another file, or remove it");
  }
  CHECK_FALSE(StateFile::read(folder.path().string()).ok());
}
