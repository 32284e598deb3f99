#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "contract/plugin/support.hpp"

using Catch::Matchers::ContainsSubstring;
using contract::LoadAttempt;
using contract::TempFolder;
using contract::test_plugin;

namespace {

std::string refusal(const std::string& plugin) {
  const auto inspected = contract::inspect(test_plugin(plugin));
  REQUIRE_FALSE(inspected.ok());
  const LoadAttempt attempt{plugin};  // load refuses it for the same reason
  CHECK_THAT(attempt.problem(), ContainsSubstring(inspected.problem().message));
  return inspected.problem().message;
}

/// Names of shared objects loaded from a file descriptor, in order.
std::vector<std::string> objects_in_memory() {
  std::vector<std::string> out;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    const std::string name = info->dlpi_name;
    if (name.find("/fd/") != name.npos) static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  ::dl_iterate_phdr(add, &out);
  return out;
}

}  // namespace

// fault: wrong ABI
TEST_CASE("a plugin of another major version is refused with both versions") {
  CHECK_THAT(refusal("wrong_major"), ContainsSubstring("was built for version 2.3 of the handler interface") &&
                                         ContainsSubstring("this inboxd has 1.0"));
}

TEST_CASE("a plugin of a newer minor version works") {
  const auto described = contract::inspect(test_plugin("newer_minor"));
  REQUIRE(described.ok());
  CHECK(described.value().name == "newer-minor");
  CHECK(described.value().abi_minor == 1);
  REQUIRE(described.value().remarks.size() == 1);
  CHECK(described.value().remarks[0].text == "newer-minor: works without what is new");

  LoadAttempt attempt{"newer_minor"};
  const auto verdicts = contract::DeliveredEvents{{"a", "b"}}.handled_by(attempt.instance());
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[1].kind == contract::Kind::done);
}

TEST_CASE("two plugins whose classes share a name stay separate, even if all symbols are visible") {
  for (const std::string which : {"first", "second"}) {
    CAPTURE(which);
    const auto described = contract::inspect(test_plugin("namesake_" + which));
    REQUIRE(described.ok());
    CHECK(described.value().name == which);
    LoadAttempt attempt{"namesake_" + which};
    CHECK(contract::DeliveredEvents{{"a"}}.handled_by(attempt.instance()).at(0).message == "of the " + which);
  }
}

TEST_CASE("a table that is too short is refused with both sizes") {
  CHECK_THAT(refusal("short_struct"), ContainsSubstring("has a table of 16 bytes") && ContainsSubstring("at least 56"));
}

// fault: missing symbol
TEST_CASE("a shared object without the entry function is refused with the remedy") {
  CHECK_THAT(refusal("missing_symbol"), ContainsSubstring("has no function inboxd_plugin_entry") &&
                                            ContainsSubstring("INBOXD_HANDLER") && ContainsSubstring("INBOXD_EXPORT"));
}

TEST_CASE("a plugin that returns no table is refused with its own message") {
  CHECK_THAT(refusal("null_entry"), ContainsSubstring(": this handler needs inboxd 99 or newer"));
}

TEST_CASE("a table with an empty function is refused") {
  CHECK_THAT(refusal("empty_function"), ContainsSubstring("set create, handle and destroy"));
}

TEST_CASE("a plugin that needs an extension this inboxd lacks is refused with the extension's name") {
  CHECK_THAT(refusal("needs_extension"), ContainsSubstring("needs the extension inboxd.telepathy/1"));
}

// fault: missing symbol
TEST_CASE("a plugin linked without a needed library is refused with the missing symbol") {
  CHECK_THAT(refusal("undefined_symbol"), ContainsSubstring("a_function_of_a_missing_library"));
}

TEST_CASE("a file that is not a shared object is refused") {
  const TempFolder folder;
  std::ofstream{folder / "text.so"} << "hello";
  const auto inspected = contract::inspect(folder / "text.so");
  REQUIRE_FALSE(inspected.ok());
  CHECK_THAT(inspected.problem().message, ContainsSubstring("must be a shared object for this machine"));
}

// fault: world-writable file
TEST_CASE("a world-writable plugin is refused, and loads once its mode is corrected") {
  const TempFolder folder;
  const contract::fs::path file = folder / "echo.so";
  contract::fs::copy_file(test_plugin("echo"), file);
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  const auto refused = contract::inspect(file);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.problem().message,
             ContainsSubstring("it is world-writable (mode 0666); run: chmod o-w " + file.string()));

  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  const auto folder_refused = contract::inspect(file);
  REQUIRE_FALSE(folder_refused.ok());
  CHECK_THAT(folder_refused.problem().message,
             ContainsSubstring("the folder ") && ContainsSubstring(" is world-writable (mode 0777)"));

  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  CHECK(contract::inspect(file).ok());
}

TEST_CASE("a plugin in another user's folder is refused: its owner can replace the file") {
  if (::geteuid() != 0) SKIP("only root can give a folder away");
  const TempFolder folder;
  const contract::fs::path theirs = folder / "theirs", file = theirs / "echo.so";
  contract::fs::create_directory(theirs);
  contract::fs::copy_file(test_plugin("echo"), file);
  REQUIRE(::chmod(theirs.c_str(), 0755) == 0);
  REQUIRE(::chown(theirs.c_str(), 12345, 12345) == 0);
  const auto refused = contract::inspect(file);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.problem().message,
             ContainsSubstring("the folder " + theirs.string() + " belongs to user 12345; it must belong to root"));
  REQUIRE(::chown(theirs.c_str(), 0, 0) == 0);
  CHECK(contract::inspect(file).ok());
}

TEST_CASE("a changed file is loaded again, and instances of the old file keep working") {
  const bool in_place = GENERATE(false, true);
  const TempFolder folder;
  const contract::fs::path file = folder / "handler.so";
  contract::fs::copy_file(test_plugin("namesake_first"), file);
  inboxd::base::Logger log{inboxd::base::LogLevel::info, inboxd::base::LogFormat::text};
  inboxd::plugin::Loader loader{inboxd::plugin::SearchPath{}};
  const auto handler = contract::handler_of(file.string());
  const auto first = loader.load(handler, log);
  REQUIRE(first.ok());

  if (in_place) {
    contract::fs::copy_file(test_plugin("namesake_second"), file, contract::fs::copy_options::overwrite_existing);
  } else {
    contract::fs::copy_file(test_plugin("namesake_second"), folder / "new");
    contract::fs::rename(folder / "new", file);
  }
  const contract::StderrCapture written;
  const auto second = loader.load(handler, log);
  REQUIRE(second.ok());
  CHECK(contract::DeliveredEvents{{"a"}}.handled_by(*second.value()).at(0).message == "of the second");
  CHECK(contract::DeliveredEvents{{"a"}}.handled_by(*first.value()).at(0).message == "of the first");
  CHECK_THAT(written.text(), ContainsSubstring("kind=plugin.file_changed") &&
                                 ContainsSubstring(contract::fs::canonical(file).string()));
}

TEST_CASE("a file with unchanged content is not loaded twice, and former content is reused") {
  const TempFolder folder;
  const contract::fs::path file = folder / "handler.so";
  inboxd::plugin::Loader loader{inboxd::plugin::SearchPath{}};
  const auto load = [&](const std::string& plugin) {
    contract::fs::remove(file);
    contract::fs::copy_file(test_plugin(plugin), file);
    REQUIRE(loader.inspect(file.string()).ok());
  };
  load("namesake_first");
  load("namesake_second");
  const auto loaded = objects_in_memory();
  for (int i = 0; i < 10; ++i) {
    load("namesake_first");
    load("namesake_second");
  }
  CHECK(objects_in_memory() == loaded);
}

TEST_CASE("a truncated file is refused, and the loaded plugin stays") {
  const TempFolder folder;
  const contract::fs::path file = folder / "handler.so";
  contract::fs::copy_file(test_plugin("echo"), file);
  inboxd::base::Logger log{inboxd::base::LogLevel::info, inboxd::base::LogFormat::text};
  inboxd::plugin::Loader loader{inboxd::plugin::SearchPath{}};
  const auto handler = contract::handler_of(file.string());
  const auto first = loader.load(handler, log);
  REQUIRE(first.ok());
  const auto size = contract::fs::file_size(file);
  // Debug sections lie near the end and are not loaded; headers lie at the beginning.
  for (const auto left : {size / 6, size / 16, std::uintmax_t{100}, std::uintmax_t{0}}) {
    CAPTURE(size, left);
    contract::fs::resize_file(file, left);
    const auto second = loader.load(handler, log);
    REQUIRE_FALSE(second.ok());
    CHECK_THAT(second.problem().message, ContainsSubstring("it is truncated") || ContainsSubstring("file too short"));
    CHECK(contract::DeliveredEvents{{"a"}}.handled_by(*first.value()).size() == 1);
  }
}

TEST_CASE("a debugger can find a plugin's file: its name is the process's own copy") {
  const LoadAttempt attempt{"echo"};
  REQUIRE(attempt.worked());
  const auto objects = objects_in_memory();
  REQUIRE_FALSE(objects.empty());
  CHECK(objects.back().starts_with("/proc/" + std::to_string(::getpid()) + "/fd/"));
  CHECK(contract::contents(objects.back()) == contract::contents(test_plugin("echo")));
}

TEST_CASE("settings that the plugin refuses are reported with its own message") {
  CHECK(LoadAttempt{"echo", {{"wrod", "x"}}}.problem() ==
        "plugin " + test_plugin("echo") + ": unknown setting 'wrod'; this plugin knows: word, number, flag, pause");
  CHECK_THAT((LoadAttempt{"echo", {{"number", "12x"}}}.problem()),
             ContainsSubstring("setting 'number' is '12x'; it must be a whole number"));
  CHECK_THAT((LoadAttempt{"echo", {{"pause", "10 minutes"}}}.problem()), ContainsSubstring("such as 250ms, 30s"));
  CHECK_THAT((LoadAttempt{"echo", {{"pause", "999999999999999999d"}}}.problem()),
             ContainsSubstring("at most 100 years"));
  CHECK_THAT((LoadAttempt{"echo", {{"flag", "yes"}}}.problem()), ContainsSubstring("it must be true or false"));
  CHECK_THAT((LoadAttempt{"ignores_cancellation"}.problem()), ContainsSubstring("setting 'seen' is missing"));
}

TEST_CASE("a constructor that throws refuses the handler with the exception's text") {
  CHECK_THAT((LoadAttempt{"throws", {{"when", "create"}}}.problem()),
             ContainsSubstring("there is no such table: receipt; create it first"));
  CHECK_THAT((LoadAttempt{"throws", {{"when", "create-odd"}}}.problem()), ContainsSubstring("not a std::exception"));
}

TEST_CASE("a plugin that refuses without a message, or throws out of create, is refused") {
  CHECK_THAT((LoadAttempt{"nonsense", {{"any", "thing"}}}.problem()), ContainsSubstring("gave no reason"));
  CHECK_THAT((LoadAttempt{"throws_across", {{"when", "create"}}}.problem()),
             ContainsSubstring("its create threw an exception"));
}
