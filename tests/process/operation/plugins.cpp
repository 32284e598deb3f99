#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <filesystem>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
namespace fs = std::filesystem;

namespace {

constexpr const char* refused = "kind=daemon.reload_refused";

/// A DaemonFixture whose handler's plugin is a copy of the recorder.
struct PluginFileFixture {
  PluginFileFixture() : file{folder / "own" / "handler.so"} {
    fs::create_directory(file.parent_path());
    ::chmod(file.parent_path().c_str(), 0755);
    fs::copy_file(plugin_file("recorder"), file);
    fixture.config.handlers[0].plugin = file;
  }

  /// As a build does: another file under the same name.
  void replace_by(const fs::path& other) const {
    fs::copy_file(other, folder / "new", fs::copy_options::overwrite_existing);
    fs::rename(folder / "new", file);
  }
  /// As `cp` does: other bytes in the same file.
  void overwrite_by(const fs::path& other) const {
    fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  }
  std::size_t handled_by(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [event, calls] : fixture.recording.calls_by_event(name)) out += static_cast<std::size_t>(calls);
    return out;
  }

  DaemonFixture fixture{1};
  TempFolder folder;
  fs::path file;
};

}  // namespace

// fault: plugin rebuilt under its name
TEST_CASE("SIGHUP loads a rebuilt plugin; until then the old code runs") {
  const bool in_place = GENERATE(false, true);
  PluginFileFixture own;
  DaemonFixture& fixture = own.fixture;
  const auto daemon = fixture.start();
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());

  in_place ? own.overwrite_by(plugin_file("recorder_rebuilt")) : own.replace_by(plugin_file("recorder_rebuilt"));
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(own.handled_by("recorder") == 40);

  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  fixture.produce(20);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(own.handled_by("recorder") == 40);
  CHECK(own.handled_by("rebuilt-recorder") == 20);
  CHECK(daemon->count_in_log("kind=plugin.file_changed") == 1);

  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded", 2);
  CHECK(daemon->count_in_log("kind=plugin.file_changed") == 1);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}

TEST_CASE("a call that runs while the plugin is replaced ends in the old code") {
  PluginFileFixture own;
  DaemonFixture& fixture = own.fixture;
  fixture.set("gate", own.folder / "gate");
  const auto daemon = fixture.start();
  fixture.produce(1);
  wait_until("the call has begun", [&] { return fixture.recording.count() == 1; });
  own.replace_by(plugin_file("recorder_rebuilt"));
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  write_file(own.folder / "gate", "open");
  CHECK(fixture.wait_done().is_perfect());
  CHECK(own.handled_by("rebuilt-recorder") == 0);
  fixture.produce(1);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(own.handled_by("rebuilt-recorder") == 1);
}

// fault: wrong ABI
// fault: missing symbol
// fault: world-writable file
// fault: plugin rebuilt under its name
TEST_CASE("SIGHUP refuses a rebuilt plugin that is broken or not trusted, with the reason, and keeps the old code") {
  PluginFileFixture own;
  DaemonFixture& fixture = own.fixture;
  const auto daemon = fixture.start();
  const fs::path good = plugin_file("recorder_rebuilt");
  int refusals = 0;
  const auto is_refused = [&](const std::string& why) {
    CAPTURE(why);
    daemon->process().signal(SIGHUP);
    daemon->wait_log(refused, ++refusals);
    CHECK(daemon->count_in_log(why) >= 1);
    fixture.produce(5);
    CHECK(fixture.wait_done().is_perfect());
    CHECK(own.handled_by("recorder") == fixture.ids().size());
  };

  own.replace_by(fs::path{BROKEN_PLUGINS} / "missing_symbol.so");
  is_refused("has no function inboxd_plugin_entry");
  own.replace_by(fs::path{BROKEN_PLUGINS} / "wrong_major.so");
  is_refused("was built for version 2.3 of the handler interface");
  own.replace_by(good);
  fs::resize_file(own.file, fs::file_size(good) / 16);
  is_refused("it is truncated");
  fs::remove(own.file);
  is_refused("cannot be reached: ");
  own.replace_by(good);
  ::chmod(own.file.c_str(), 0666);
  is_refused("it is world-writable");
  ::chmod(own.file.c_str(), 0644);
  ::chmod(own.file.parent_path().c_str(), 0777);
  is_refused(" is world-writable (mode 0777)");
  ::chmod(own.file.parent_path().c_str(), 0755);
  if (::geteuid() == 0) {
    REQUIRE(::chown(own.file.parent_path().c_str(), 12345, 12345) == 0);
    is_refused("belongs to user 12345");
    REQUIRE(::chown(own.file.parent_path().c_str(), 0, 0) == 0);
  }

  const auto before = fixture.ids().size();
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reloaded");
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(own.handled_by("recorder") == before);
  CHECK(own.handled_by("rebuilt-recorder") == 5);
}
