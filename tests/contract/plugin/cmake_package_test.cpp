#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <fstream>

#include "config/load.hpp"
#include "contract/plugin/support.hpp"
#include "support/fenced_block.hpp"

using Catch::Matchers::ContainsSubstring;
using contract::DeliveredEvents;
using contract::handler_of;
using contract::Kind;
using contract::LoadAttempt;
using contract::TempFolder;
namespace fs = std::filesystem;

namespace {

void run(const std::string& command, const TempFolder& folder) {
  const fs::path log = folder / "log";
  const int status = std::system((command + " >" + log.string() + " 2>&1").c_str());
  INFO(command << "\n" << contract::contents(log));
  REQUIRE(status == 0);
}

/// Installs the development files and the shipped handlers below a folder.
void install(const TempFolder& folder) {
  for (const std::string component : {"development", "handlers"}) {
    run(std::string{CMAKE_PROGRAM} + " --install " BUILD_FOLDER " --component " + component + " --prefix " +
            (folder / "prefix").string(),
        folder);
  }
}

/// Builds with only the installed package.
fs::path build_handler(const std::string& name, const TempFolder& folder) {
  const fs::path source = folder / name;
  const std::string build = (source / "build").string();
  run(std::string{CMAKE_PROGRAM} + " -S " + source.string() + " -B " + build + " -G '" GENERATOR "'" +
          " -DCMAKE_C_COMPILER=" C_COMPILER " -DCMAKE_CXX_COMPILER=" CXX_COMPILER +
          " -DCMAKE_C_FLAGS='-Wall -Wextra -Werror' -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror'" +
          " -DCMAKE_PREFIX_PATH=" + (folder / "prefix").string(),
      folder);
  run(std::string{CMAKE_PROGRAM} + " --build " + build, folder);
  return source / "build" / (name + ".so");
}

/// Builds a copy of an example, as readers do.
fs::path build_example(const std::string& name, const TempFolder& folder) {
  fs::copy(SOURCE_FOLDER "/config/examples/" + name, folder / name, fs::copy_options::recursive);
  return build_handler(name, folder);
}

/// The first block of that language in config/handlers/plugin.md.
std::string shown_in_guide(const std::string& language) {
  return inboxd::support::fenced_block(contract::contents(SOURCE_FOLDER "/config/handlers/plugin.md"), language);
}

}  // namespace

TEST_CASE("the install contains headers, CMake package and shipped handlers") {
  const TempFolder folder;
  install(folder);
  for (const char* file : {"include/inboxd/handler.h", "include/inboxd/handler.hpp", "include/inboxd/outbox.h",
                           "include/inboxd/json.h", "include/inboxd/trace.h",
                           "lib/cmake/inboxd/inboxdConfig.cmake", "lib/cmake/inboxd/inboxdConfigVersion.cmake",
                           "lib/cmake/inboxd/inboxdHandler.cmake", "lib/inboxd/log.so"}) {
    CHECK(fs::is_regular_file(folder / "prefix" / file));
  }
  const std::string installed = (folder / "prefix" / "lib" / "inboxd").string();
  CHECK(LoadAttempt{handler_of("log"), installed}.worked());
}

TEST_CASE("the C++ example, built outside the tree, writes one receipt per order, also when repeated") {
  const TempFolder folder;
  install(folder);
  const std::string plugin = build_example("receipt", folder).string();
  fs::create_directory(folder / "receipts");
  CHECK_THAT((LoadAttempt{handler_of(plugin, {{"folder", (folder / "nowhere").string()}})}.problem()),
             ContainsSubstring("it must be a folder that exists"));

  LoadAttempt attempt{handler_of(plugin, {{"folder", (folder / "receipts").string()}})};
  DeliveredEvents batch{{"order-1", "order-2", "gone"}};
  batch.event(1).key = std::nullopt;
  batch.event(2).payload = std::nullopt;
  for (int attempts = 1; attempts <= 2; ++attempts) {
    batch.delivered(0).attempt = attempts;
    const auto verdicts = batch.handled_by(attempt.instance());
    CHECK(verdicts.at(0).kind == Kind::done);
    CHECK(verdicts.at(1).kind == Kind::dead);
    CHECK(verdicts.at(1).error_class == "validation.key");
    CHECK(verdicts.at(2).kind == Kind::done);
  }
  const fs::path receipt = folder / "receipts" / "00000000-0000-0000-0000-000000000000.txt";
  CHECK(contract::contents(receipt) ==
        "Receipt 00000000-0000-0000-0000-000000000000\nOrder   order-1\nEvent   OrderPlaced\n\n{}\n");
  CHECK(std::distance(fs::directory_iterator{folder / "receipts"}, fs::directory_iterator{}) == 1);

  fs::remove_all(folder / "receipts");
  const auto failed = batch.handled_by(attempt.instance());
  CHECK(failed.at(0).kind == Kind::retry);
  CHECK(failed.at(0).error_class == "receipt.write");
  CHECK(failed.at(0).delay == std::chrono::seconds{30});
}

TEST_CASE("the guide's handler is built as the guide says, and works") {
  const TempFolder folder;
  install(folder);
  fs::create_directory(folder / "greeter");
  std::ofstream{folder / "greeter" / "greeter.cpp"} << shown_in_guide("cpp");
  std::ofstream{folder / "greeter" / "CMakeLists.txt"} << shown_in_guide("cmake");
  const std::string plugin = build_handler("greeter", folder).string();
  const auto file = shown_in_guide("yaml");
  auto loaded = inboxd::config::load_text(file, "inboxd.yaml", inboxd::config::Environment{});
  REQUIRE(loaded.ok());
  auto handler = loaded.settings.handlers.at(0);
  CHECK_THAT(handler.plugin, ContainsSubstring("build/greeter.so"));
  handler.plugin = plugin;
  CHECK(handler.settings == inboxd::config::PluginSettings{{"greeting", "Good morning"}});
  LoadAttempt attempt{handler};
  DeliveredEvents batch{{"order-1", "gone"}};
  batch.event(1).payload = std::nullopt;
  const auto verdicts = batch.handled_by(attempt.instance());
  CHECK(verdicts.at(0).kind == Kind::done);
  CHECK(verdicts.at(1).kind == Kind::dead);
  CHECK(verdicts.at(1).error_class == "validation.payload");
}

TEST_CASE("the C example, built outside the tree, appends a line per event") {
  const TempFolder folder;
  install(folder);
  const std::string plugin = build_example("audit_trail", folder).string();
  const std::string trail = (folder / "trail").string();
  CHECK_THAT((LoadAttempt{handler_of(plugin)}.problem()), ContainsSubstring("setting 'file' is missing"));
  CHECK_THAT((LoadAttempt{handler_of(plugin, {{"file", trail}, {"snyc", "true"}})}.problem()),
             ContainsSubstring("unknown setting 'snyc'; this plugin knows: file, sync"));
  CHECK_THAT((LoadAttempt{handler_of(plugin, {{"file", "/nowhere/trail"}})}.problem()),
             ContainsSubstring("cannot open /nowhere/trail"));

  for (const std::string sync : {"false", "true"}) {
    LoadAttempt attempt{handler_of(plugin, {{"file", trail}, {"sync", sync}})};
    DeliveredEvents batch{{"a", "b"}};
    batch.event(0).payload = "one\tline\n\\";
    batch.event(1).payload = std::nullopt;
    for (const auto& verdict : batch.handled_by(attempt.instance())) CHECK(verdict.kind == Kind::done);
  }
  const std::string lines =
      "00000000-0000-0000-0000-000000000000\tOrderPlaced\torders/3/100\tone\\x09line\\x0a\\x5c\n"
      "00000000-0000-0000-0000-000000000001\tOrderPlaced\torders/3/101\t\\N\n";
  CHECK(contract::contents(trail) == lines + lines);
}

TEST_CASE("the C example returns retry when the disk is full") {
  if (!fs::exists("/dev/full")) SKIP("there is no /dev/full here");
  const TempFolder folder;
  install(folder);
  LoadAttempt attempt{handler_of(build_example("audit_trail", folder).string(), {{"file", "/dev/full"}})};
  const auto verdicts = DeliveredEvents{{"a"}}.handled_by(attempt.instance());
  CHECK(verdicts.at(0).kind == Kind::retry);
  CHECK(verdicts.at(0).error_class == "disk.full");
  CHECK(verdicts.at(0).delay == std::chrono::seconds{30});
}
