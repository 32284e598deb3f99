// README's first command.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>

#include "package/support/packages.hpp"
#include "support/process.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr milliseconds long_enough{600'000};  // the script may have to build

/// Number of processes with this text in their command line: all processes of the quickstart name its folder.
int processes_with(const std::string& text) {
  int out = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    if (read_file(entry.path() / "cmdline").find(text) != std::string::npos) ++out;
  }
  return out;
}

void wait_for_end(const TempFolder& folder) {
  wait_until("all that it started has ended", [&] { return processes_with(folder.path().string()) == 0; });
}

Command quickstart(const TempFolder& folder, const std::string& script = "run") {
  return {.arguments = {source_file("config/quickstart/" + script)},
          .environment = {{"TMPDIR", folder.path().string()}}};
}

}  // namespace

TEST_CASE("the quickstart shows the main job, confirms its counts, and cleans up") {
  const TempFolder folder{"/tmp"};
  Command command = quickstart(folder);
  command.arguments.emplace_back("--once");
  const auto finished = run_to_end(command, long_enough);
  INFO(finished.out << finished.err);
  CHECK(finished.status == ExitStatus{0, 0});
  CHECK_THAT(finished.out + finished.err, ContainsSubstring("$ inboxd status") &&
                                              ContainsSubstring("$ inboxd events list") &&
                                              ContainsSubstring("all counts are right") && !ContainsSubstring("WRONG"));
  CHECK(std::filesystem::is_empty(folder.path()));
  wait_for_end(folder);
}

TEST_CASE("the quickstart of local events confirms its counts on PostgreSQL alone, and cleans up") {
  const TempFolder folder{"/tmp"};
  Command command = quickstart(folder, "local");
  command.arguments.emplace_back("--once");
  const auto finished = run_to_end(command, long_enough);
  INFO(finished.out << finished.err);
  CHECK(finished.status == ExitStatus{0, 0});
  CHECK_THAT(finished.out + finished.err, ContainsSubstring("$ inboxd status") &&
                                              ContainsSubstring("all counts are right"));
  CHECK(std::filesystem::is_empty(folder.path()));
  wait_for_end(folder);
}

TEST_CASE("the quickstart runs until Ctrl-C, which stops all its processes, also with later signals") {
  const TempFolder folder{"/tmp"};
  const TempFolder output;
  Command command = quickstart(folder);
  command.out = command.err = output / "out";
  Process running{command};
  const auto shown = [&] { return read_file(output / "out"); };
  wait_until(
      "it says how to stop it",
      [&] {
        if (!running.is_running()) throw std::runtime_error{"the quickstart has ended: " + shown()};
        return shown().find("Ctrl-C stops") != std::string::npos;
      },
      long_enough, shown);
  CHECK(processes_with(folder.path().string()) > 0);
  running.signal(SIGINT);
  wait_until("it has cleaned up, although each poll sends a signal", [&] {
    if (running.is_running()) running.signal(SIGTERM);
    return !running.is_running();
  });
  const ExitStatus status = running.wait();
  INFO("exit status " << status.code << ", signal " << status.signal << "; " << shown());
  // The shell may run the trap of the second signal before the first command of the first one's.
  CHECK((status == ExitStatus{128 + SIGINT, 0} || status == ExitStatus{128 + SIGTERM, 0}));
  CHECK(std::filesystem::is_empty(folder.path()));
  wait_for_end(folder);
}
