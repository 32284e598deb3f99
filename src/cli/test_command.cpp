// `inboxd test`: sample records through the real handlers, on a throw-away database.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal_text.hpp"
#include "config/units.hpp"
#include "daemon/descriptors.hpp"
#include "daemon/load_configuration.hpp"
#include "testing/run_tests.hpp"

namespace inboxd::cli {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr std::chrono::milliseconds default_timeout{60'000}, min_timeout{1'000}, max_timeout{3'600'000};

/// A topic whose tokens are missing would take no requests, although tests need no token.
void open_without_tokens(config::Loaded& loaded) {
  for (std::size_t i = 0; i < loaded.settings.topics.size(); ++i) {
    const std::string key = "topics[" + std::to_string(i) + "].http.token";
    const auto found = loaded.origins.lower_bound(key);
    if (found != loaded.origins.end() && found->first.starts_with(key)) loaded.settings.topics[i].http.open = true;
  }
}

/// The configuration; with empty secrets if only they are missing, as on a machine for tests.
std::optional<config::Loaded> load(const Session& session) {
  auto loaded = daemon::load_configuration(session.config_file, false);
  if (loaded.ok()) return loaded;
  auto without_secrets = session.load(true);
  if (without_secrets) {
    for (const auto& problem : loaded.problems) session.say("test: left empty: " + problem.text());
    open_without_tokens(*without_secrets);
  }
  return without_secrets;
}

std::string all_of(const std::vector<std::string>& differences) {
  std::string out;
  for (const std::string& each : differences) out += (out.empty() ? "" : "; ") + each;
  return out;
}

void report(const Session& session, const testing::CaseResult& result) {
  if (session.json) return;
  const bool passed = result.differences.empty();
  const Look& look = session.output.look;
  session.output.out << in_tone(passed ? "passed" : "failed", passed ? Tone::good : Tone::bad, look) << "  "
                     << one_line(result.name + (passed ? "" : ": ") + all_of(result.differences))
                     << '\n' << std::flush;
}

ExitCode finish(const Session& session, const std::vector<testing::CaseResult>& results) {
  const auto passed = std::count_if(results.begin(), results.end(), [](const auto& each) {
    return each.differences.empty();
  });
  const auto failed = static_cast<std::int64_t>(results.size()) - passed;
  if (session.json) {
    operations::Document cases = operations::Document::array();
    for (const auto& each : results) {
      cases.push_back({{"name", each.name},
                       {"passed", each.differences.empty()},
                       {"duration_ms", each.duration.count()},
                       {"differences", each.differences}});
    }
    session.print({{"passed", passed}, {"failed", failed}, {"cases", std::move(cases)}});
  } else {
    session.output.out << passed << " passed, " << failed << " failed\n" << std::flush;
  }
  return failed == 0 ? ExitCode::done : ExitCode::no;
}

/// Called before the tests, too: a run must not end without its results.
bool write_junit(const Session& session, const std::string& file, const std::string& text) {
  std::ofstream out{file, text.empty() ? std::ios::app : std::ios::trunc};
  if (out << text << std::flush) return true;
  session.say("test: --junit: " + file + " cannot be written: " + std::strerror(errno) +
              "; name a file in a folder that exists and is yours");
  return false;
}

ExitCode run_test(Session& session, const operations::Arguments& arguments) {
  const auto timeout = config::parse_duration(arguments.text("timeout").value_or("60s"));
  if (!timeout || *timeout < min_timeout || *timeout > max_timeout) {
    session.say("test: --timeout takes a duration from 1s to 1h, such as 30s");
    return ExitCode::usage;
  }
  const auto loaded = load(session);
  if (!loaded) return ExitCode::configuration;
  const std::string path = *arguments.text("file");
  const auto file = testing::read_test_file(path, loaded->settings);
  for (const auto& problem : file.problems) session.say(problem.text());
  if (!file.problems.empty()) return ExitCode::configuration;

  const auto junit = arguments.text("junit");
  if (junit && !write_junit(session, *junit, "")) return ExitCode::usage;
  daemon::raise_descriptor_limit(loaded->settings);
  ::signal(SIGPIPE, SIG_IGN);  // an answer may find its client gone
  Interrupt interrupt;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  testing::TestRequest request;
  request.database = arguments.text("database").value_or("");
  request.filter = arguments.text("filter").value_or("");
  request.is_real = arguments.flag("real");
  request.timeout = *timeout;
  request.must_end = [&] { return interrupt.wait(0ms); };
  request.report = [&](const testing::CaseResult& result) { report(session, result); };
  const auto results = testing::run_tests(file, *loaded, request, log);
  if (!results) {
    session.say("test: " + results.problem().message);
    return results.problem().code == "setup" ? ExitCode::no : ExitCode::unavailable;
  }
  if (results.value().empty() && !interrupt.wait(0ms)) {
    session.say("test: no case has " + base::json_quote(request.filter) + " in its name");
    return ExitCode::no;
  }
  ExitCode code = finish(session, results.value());
  if (interrupt.wait(0ms)) {
    session.say("test: interrupted; the rest of the cases did not run");
    code = ExitCode::try_again;
  }
  if (junit && !write_junit(session, *junit, testing::junit_of(path, results.value()))) code = ExitCode::no;
  const bool has_left_calls = !results.value().empty() && results.value().back().has_left_calls;
  if (has_left_calls) std::_Exit(static_cast<int>(code));
  return code;
}

}  // namespace

Command test_command() {
  return {"test",
          "Runs sample records through the configuration and its real handlers, and compares the outcomes. For CI: "
          "without Kafka, on a throw-away PostgreSQL database, never on database.url.",
          {{"test orders.test.yaml", "on a PostgreSQL that it starts from the installed programs, and removes"},
           {"test orders.test.yaml --database postgresql://postgres@localhost/postgres --junit results.xml",
            "on a running server, where it creates databases and drops them"},
           {"test orders.test.yaml --filter refund", "the cases with this text in their name"}},
          {{"file", Kind::text, "the records and the expectations; see config/testing.md", "FILE", Place::word},
           {"database", Kind::text, "a server where databases may be created; by default a private server is started",
            "URL"},
           {"filter", Kind::text, "only the cases with this text in their name", "TEXT"},
           {"junit", Kind::text, "also write the results as JUnit XML", "FILE"},
           {"real", Kind::flag, "handlers http call their real addresses, not recorded answers"},
           {"timeout", Kind::text, "the longest time for a case; default: 60s", "DURATION"}},
          run_test};
}

}  // namespace inboxd::cli
