#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "contract/plugin/support.hpp"

using Catch::Matchers::ContainsSubstring;
using contract::Attempt;
using contract::Folder;
using contract::test_plugin;

namespace {

std::string refusal(const std::string& plugin) {
  const auto inspected = inboxd::plugin::inspect(test_plugin(plugin), {});
  REQUIRE_FALSE(inspected.ok());
  const Attempt attempt{plugin};  // load refuses for the same reason
  CHECK_THAT(attempt.problem(), ContainsSubstring(inspected.problem().message));
  return inspected.problem().message;
}

}  // namespace

TEST_CASE("a plugin of another major version is refused with both versions") {
  CHECK_THAT(refusal("wrong_major"), ContainsSubstring("was built for version 2.3 of the handler interface") &&
                                         ContainsSubstring("this inboxd has 1.0"));
}

TEST_CASE("a plugin of a newer minor version works") {
  const auto described = inboxd::plugin::inspect(test_plugin("newer_minor"), {});
  REQUIRE(described.ok());
  CHECK(described.value().name == "newer-minor");
  CHECK(described.value().abi_minor == 1);
  REQUIRE(described.value().remarks.size() == 1);
  CHECK(described.value().remarks[0].text == "newer-minor: works without what is new");

  Attempt attempt{"newer_minor"};
  const auto verdicts = contract::Batch{{"a", "b"}}.through(attempt.instance());
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[1].kind == contract::Kind::done);
}

TEST_CASE("two plugins whose classes have the same name are two, also where they hide no names") {
  for (const std::string which : {"first", "second"}) {
    CAPTURE(which);
    const auto described = inboxd::plugin::inspect(test_plugin("namesake_" + which), {});
    REQUIRE(described.ok());
    CHECK(described.value().name == which);
    Attempt attempt{"namesake_" + which};
    CHECK(contract::Batch{{"a"}}.through(attempt.instance()).at(0).message == "of the " + which);
  }
}

TEST_CASE("a table that is too short is refused with both sizes") {
  CHECK_THAT(refusal("short_struct"), ContainsSubstring("has a table of 16 bytes") && ContainsSubstring("at least 56"));
}

TEST_CASE("a shared object without the entry function is refused with what would be right") {
  CHECK_THAT(refusal("missing_symbol"), ContainsSubstring("has no function inboxd_plugin_entry") &&
                                            ContainsSubstring("INBOXD_HANDLER") && ContainsSubstring("INBOXD_EXPORT"));
}

TEST_CASE("a plugin that gives no table is refused with its own words") {
  CHECK_THAT(refusal("null_entry"), ContainsSubstring("it says: this handler needs inboxd 99 or newer"));
}

TEST_CASE("a table with an empty function is refused") {
  CHECK_THAT(refusal("empty_function"), ContainsSubstring("create, handle and destroy must all be there"));
}

TEST_CASE("a plugin that needs an extension this inboxd lacks is refused with the extension's name") {
  CHECK_THAT(refusal("needs_extension"), ContainsSubstring("needs the extension inboxd.telepathy/1"));
}

TEST_CASE("a plugin that was linked without a library is refused with the missing name") {
  CHECK_THAT(refusal("undefined_symbol"), ContainsSubstring("a_function_of_a_missing_library"));
}

TEST_CASE("a file that is no shared object is refused") {
  const Folder folder;
  std::ofstream{folder / "text.so"} << "hello";
  const auto inspected = inboxd::plugin::inspect((folder / "text.so").string(), {});
  REQUIRE_FALSE(inspected.ok());
  CHECK_THAT(inspected.problem().message, ContainsSubstring("must be a shared object for this machine"));
}

TEST_CASE("a plugin that everybody may write to is refused, and loads once that is mended") {
  const Folder folder;
  const contract::fs::path file = folder / "mirror.so";
  contract::fs::copy_file(test_plugin("mirror"), file);
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  const auto refused = inboxd::plugin::inspect(file.string(), {});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.problem().message,
             ContainsSubstring("everybody may write to it (mode 0666); chmod o-w " + file.string()));

  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  const auto folder_refused = inboxd::plugin::inspect(file.string(), {});
  REQUIRE_FALSE(folder_refused.ok());
  CHECK_THAT(folder_refused.problem().message, ContainsSubstring("everybody may write to the folder"));

  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  CHECK(inboxd::plugin::inspect(file.string(), {}).ok());
}

TEST_CASE("a plugin in a folder that belongs to somebody else is refused: another file can be put in its place") {
  if (::geteuid() != 0) SKIP("only root can give a folder away");
  const Folder folder;
  const contract::fs::path theirs = folder / "theirs", file = theirs / "mirror.so";
  contract::fs::create_directory(theirs);
  contract::fs::copy_file(test_plugin("mirror"), file);
  REQUIRE(::chmod(theirs.c_str(), 0755) == 0);
  REQUIRE(::chown(theirs.c_str(), 12345, 12345) == 0);
  const auto refused = inboxd::plugin::inspect(file.string(), {});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.problem().message,
             ContainsSubstring("the folder " + theirs.string() + " belongs to user 12345; it must belong to root"));
  REQUIRE(::chown(theirs.c_str(), 0, 0) == 0);
  CHECK(inboxd::plugin::inspect(file.string(), {}).ok());
}

TEST_CASE("a plugin file that was replaced goes on as it was loaded, with a warning; one of another name is taken") {
  const Folder folder;
  const contract::fs::path file = folder / "handler.so";
  contract::fs::copy_file(test_plugin("mirror"), file);
  const auto first = inboxd::plugin::inspect(file.string(), {});
  REQUIRE(first.ok());
  CHECK(first.value().remarks.empty());

  contract::fs::copy_file(test_plugin("newer_minor"), folder / "new");
  contract::fs::rename(folder / "new", file);
  const auto again = inboxd::plugin::inspect(file.string(), {});
  REQUIRE(again.ok());
  CHECK(again.value().name == first.value().name);
  REQUIRE(again.value().remarks.size() == 1);
  CHECK(again.value().remarks[0].level == inboxd::base::LogLevel::warn);
  CHECK_THAT(again.value().remarks[0].text, ContainsSubstring(file.string() + " was replaced") &&
                                                ContainsSubstring("a restart takes the new one"));

  contract::fs::copy_file(test_plugin("newer_minor"), folder / "other.so");
  const auto other = inboxd::plugin::inspect((folder / "other.so").string(), {});
  REQUIRE(other.ok());
  CHECK(other.value().name == "newer-minor");
}

TEST_CASE("settings that the plugin refuses end in its own sentence") {
  CHECK(Attempt{"mirror", {{"wrod", "x"}}}.problem() ==
        "plugin " + test_plugin("mirror") +
            ": unknown setting 'wrod'; this plugin knows: word, number, flag, pause");
  CHECK_THAT((Attempt{"mirror", {{"number", "12x"}}}.problem()),
             ContainsSubstring("setting 'number' is '12x'; it must be a whole number"));
  CHECK_THAT((Attempt{"mirror", {{"pause", "10 minutes"}}}.problem()), ContainsSubstring("such as 250ms, 30s"));
  CHECK_THAT((Attempt{"mirror", {{"pause", "999999999999999999d"}}}.problem()), ContainsSubstring("at most 100 years"));
  CHECK_THAT((Attempt{"mirror", {{"flag", "yes"}}}.problem()), ContainsSubstring("it must be true or false"));
  CHECK_THAT((Attempt{"deaf"}.problem()), ContainsSubstring("setting 'seen' is missing"));
}

TEST_CASE("a constructor that throws refuses the handler with its text") {
  CHECK_THAT((Attempt{"throws", {{"when", "create"}}}.problem()),
             ContainsSubstring("there is no such table: receipt; create it first"));
  CHECK_THAT((Attempt{"throws", {{"when", "create-odd"}}}.problem()), ContainsSubstring("no std::exception"));
}

TEST_CASE("a plugin that refuses without a word, or lets an exception out of create, is refused all the same") {
  CHECK_THAT((Attempt{"nonsense", {{"any", "thing"}}}.problem()), ContainsSubstring("gave no reason"));
  CHECK_THAT((Attempt{"throws_across", {{"when", "create"}}}.problem()),
             ContainsSubstring("an exception left the plugin's create"));
}
