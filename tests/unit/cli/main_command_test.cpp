// Whole commands without servers: stdout, stderr and exit status.
#include "cli/main_command.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace inboxd;
using namespace inboxd::cli;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Ended {
  ExitCode code;
  std::string out;
  std::string messages;
};

Ended run(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream messages;
  const ExitCode code = main_command(words, Output{out, messages, {}, {}, false, false});
  return {code, out.str(), messages.str()};
}

/// A configuration file, removed after the test.
class File {
 public:
  explicit File(const std::string& text) {
    char name[] = "/tmp/inboxd_cli_XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream{path()} << text;
  }
  ~File() { std::filesystem::remove_all(folder_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return folder_ + "/inboxd.yaml"; }

 private:
  std::string folder_;
};

/// No process listens on port 1.
const std::string unreachable =
    "database: {url: 'postgresql://app@127.0.0.1:1/app', deadline: 2s}\n"
    "kafka: {brokers: '127.0.0.1:1', group: test}\n"
    "topics: [{name: orders}]\n"
    "handlers: [{name: first, plugin: log, subscribe: {topics: [orders]}}]\n";

}  // namespace

TEST_CASE("a missing configuration ends with status 78 and nothing on stdout") {
  const auto ended = run({"status", "--config", "/nowhere/inboxd.yaml"});
  CHECK(ended.code == ExitCode::configuration);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.messages, ContainsSubstring("inboxd: /nowhere/inboxd.yaml: "));
}

TEST_CASE("all problems of a configuration are reported at once, with their places") {
  const File file{"databse: {}\nkafka: {brokers: 'x', group: g, broker: y}\n"};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status"}, {"run"}, {"migrate"}, {"dead", "list"}}) {
    auto with_file = words;
    with_file.insert(with_file.end(), {"--config", file.path()});
    const auto ended = run(with_file);
    CHECK(ended.code == ExitCode::configuration);
    CHECK_THAT(ended.messages, ContainsSubstring(":1:1: databse"));
    CHECK_THAT(ended.messages, ContainsSubstring(":2:"));
  }
}

TEST_CASE("check --offline checks the file alone") {
  const File file{unreachable};
  const auto ended = run({"check", "--offline", "--config", file.path()});
  CHECK(ended.code == ExitCode::done);
  CHECK_THAT(ended.out, ContainsSubstring("ok  configuration: "));
  const auto json = run({"check", "--offline", "--json", "--config", file.path()});
  CHECK(operations::Document::parse(json.out).at("ok") == true);
  const File remote{"database: {url: 'postgresql://app@db/app?sslmode=require'}\n" +
                    unreachable.substr(unreachable.find('\n') + 1)};
  const auto warned = run({"check", "--offline", "--config", remote.path()});
  CHECK(warned.code == ExitCode::done);
  CHECK_THAT(warned.out, ContainsSubstring("warning  database: with sslmode=require a false server in place of db is"));
  const File wrong{"databse: {}\n"};
  const auto refused = run({"check", "--offline", "--json", "--config", wrong.path()});
  CHECK(refused.code == ExitCode::configuration);
  CHECK(operations::Document::parse(refused.out).at("ok") == false);
}

TEST_CASE("a database that is not reached ends with status 69, named without its password") {
  const File file{"database: {url: 'postgresql://app:secret@127.0.0.1:1/app', deadline: 2s}\n" +
                  unreachable.substr(unreachable.find('\n') + 1)};
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status"}, {"events", "list", "--json"}, {"dead", "replay", "--all"}, {"migrate"}}) {
    auto with_file = words;
    with_file.insert(with_file.end(), {"--config", file.path()});
    const auto ended = run(with_file);
    CAPTURE(words.front());
    CHECK(ended.code == ExitCode::unavailable);
    CHECK(ended.out.empty());
    CHECK_THAT(ended.messages, ContainsSubstring("host=127.0.0.1 port=1"));
    CHECK_THAT(ended.messages, !ContainsSubstring("secret"));
  }
}

TEST_CASE("wrong arguments are refused before any file or connection is opened") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"events", "list", "--limit", "0"},
                                                {"dead", "list", "--since", "soon"},
                                                {"partitions", "accept-gap", "orders", "x"},
                                                {"shards", "accept-gap", "orders", "x"}}) {
    const auto ended = run(words);
    CHECK(ended.code == ExitCode::usage);
    CHECK(ended.out.empty());
  }
  CHECK(run({"migrate", "--plan", "--check"}).code == ExitCode::usage);
  CHECK(run({"config", "reference", "--yaml", "--minimal"}).code == ExitCode::usage);
  CHECK(run({"status", "--watch", "--json"}).code == ExitCode::usage);
}

TEST_CASE("a missing plugin ends with status 1 and a message") {
  const auto ended = run({"plugin", "check", "/nowhere/handler.so"});
  CHECK(ended.code == ExitCode::no);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.messages, ContainsSubstring("/nowhere/handler.so"));
  const auto json = run({"plugin", "check", "/nowhere/handler.so", "--json"});
  CHECK(operations::Document::parse(json.out).at("ok") == false);
}

TEST_CASE("plugin check shows the messages of a plugin while it is loaded") {
  const std::string file = std::string{TEST_PLUGINS} + "/newer_minor.so";
  const std::string said = "newer-minor: works without what is new";
  CHECK_THAT(run({"plugin", "check", file}).out, ContainsSubstring(said));
  const auto json = operations::Document::parse(run({"plugin", "check", file, "--json"}).out);
  CHECK(json.at("remarks") == operations::Document::array({{{"level", "info"}, {"text", said}}}));
}

TEST_CASE("every --json is a single document") {
  const File file{unreachable};
  for (std::vector<std::string> words : {std::vector<std::string>{"version"},
                                         {"config", "show", "--config", file.path()},
                                         {"config", "reference"},
                                         {"config", "schema"}}) {
    CAPTURE(words.front());
    words.push_back("--json");
    const auto ended = run(words);
    CHECK(ended.code == ExitCode::done);
    CHECK(ended.messages.empty());
    CHECK(operations::Document::accept(ended.out));
  }
}

TEST_CASE("the minimal reference is a valid configuration") {
  const auto printed = run({"config", "reference", "--minimal"});
  const File file{printed.out};
  CHECK(run({"check", "--offline", "--config", file.path()}).code == ExitCode::done);
}

TEST_CASE("output that could not be written ends with status 1") {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  std::ostringstream messages;
  CHECK(main_command({"version"}, Output{out, messages, {}, {}, false, false}) == ExitCode::no);
}
