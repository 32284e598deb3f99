// The pages of config/recipes, each run as it stands.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "support/daemon_process.hpp"
#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"
#include "support/topic_reader.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A code block: its first word, the rest of that line, its text.
struct Block {
  std::string kind, options, text;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> out;
  std::istringstream lines{page};
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (!is_inside) continue;
      std::istringstream words{line.substr(3)};
      Block& block = out.emplace_back();
      words >> block.kind;
      std::getline(words, block.options);
    } else if (is_inside) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

/// A page's blocks of a kind, in their order.
std::vector<Block> of_kind(const std::vector<Block>& blocks, const std::string& kind) {
  std::vector<Block> out;
  std::ranges::copy_if(blocks, std::back_inserter(out), [&](const Block& block) { return block.kind == kind; });
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at != text.npos) text.replace(at, from.size(), to);
  return text;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// What the console producer makes of a line, with `|` between headers, key and value.
Message message_of(std::string line, const std::string& options, const std::string& topic) {
  const auto cut = [&](const std::string& separator) {
    const auto at = line.find(separator);
    REQUIRE(at != line.npos);
    const std::string part = line.substr(0, at);
    line.erase(0, at + separator.size());
    return part;
  };
  Message out;
  out.topic = topic;
  if (options.find("headers") != options.npos) {
    std::istringstream headers{cut("|")};
    for (std::string header; std::getline(headers, header, ',');) {
      const auto colon = header.find(':');
      out.headers.emplace_back(header.substr(0, colon), header.substr(colon + 1));
    }
  }
  if (options.find("key") != options.npos) out.key = cut("|");
  out.payload = line;
  return out;
}

/// A page, with servers and topics of its own.
class Recipe {
 public:
  Recipe(const std::filesystem::path& page, const PrivatePostgres& server)
      : blocks_{blocks_of(read_file(page))}, sql_{of_kind(blocks_, "sql")} {
    const std::string name = page.stem().string();
    std::string database = name;
    std::ranges::replace(database, '-', '_');
    Session{server.url(), "inbox"}.run("create database " + database);
    url_ = server.url();
    url_.replace(url_.rfind('/') + 1, url_.npos, database);
    file_ = of_kind(blocks_, "yaml").at(0).text;
    std::smatch found;
    REQUIRE(std::regex_search(file_, found, std::regex{R"(topics: \[\{name: (\w+))"}));
    is_local_ = file_.find("source: local") != file_.npos;
    topic_ = is_local_ ? found.str(1) : kafka_.create_topic();
    for (const std::string before : {"topics: [{name: ", "topics: ["}) {
      file_ = replace_all(file_, before + found.str(1), before + topic_);
    }
    replies_ = kafka_.create_topic();
    file_ = replaced(file_, "'replies'", "'" + replies_ + "'");
    file_ = replaced(file_, "postgresql://app@localhost/app", url_);
    file_ = replaced(file_, "localhost:9092", kafka_.brokers());
    file_ = std::regex_replace(file_, std::regex{"group: [\\w-]+"}, "group: " + topic_);
    file_ = replaced(file_, "cron: \"0 6 * * *\", time_zone: Europe/Berlin", "every: 1s");
    file_ += "admin: {listen: off}\n";
  }

  /// Runs the page; returns its results, and what they were to be.
  void run() {
    make_tables();
    start_service();
    produce();
    if (is_local_) {
      in_daemon("migrate");
      in_daemon("run", "--until-idle");  // declares the topic
      Session{url_, "inbox"}.run(sql_.at(1).text);
      in_daemon("run", "--until-idle");
    } else {
      in_daemon("run", "--migrate", "--until-idle");
    }
    compare();
    in_daemon("verify");
  }

 private:
  template <class... Words>
  void in_daemon(Words... words) {
    const auto ran = command_with_file(file_, {words...});
    INFO(ran.out << ran.err);
    REQUIRE(ran.status == ExitStatus{0, 0});
  }

  void make_tables() {
    if (!sql_.empty()) Session{url_, "inbox"}.run(sql_[0].text);
  }

  void start_service() {
    const auto code = of_kind(blocks_, "python");
    if (code.empty()) return;
    const std::string port = std::to_string(free_port());
    std::ofstream{folder_ / "service.py"} << replaced(code[0].text, "8080", port);
    file_ = replaced(file_, "8080", port);
    service_ = std::make_unique<Process>(
        Command{.arguments = {"python3", folder_ / "service.py"}, .out = folder_ / "out", .err = folder_ / "err"});
  }

  void produce() {
    std::vector<Message> messages;
    for (const Block& block : of_kind(blocks_, "records")) {
      std::istringstream lines{block.text};
      for (std::string line; std::getline(lines, line);) messages.push_back(message_of(line, block.options, topic_));
    }
    if (!messages.empty()) kafka_.produce(messages);
  }

  void compare() {
    for (const Block& result : of_kind(blocks_, "result")) {
      if (result.options.find("service") != result.options.npos) {
        CHECK(read_file(folder_ / "out") == replaced(result.text, "orders ", topic_ + " "));
      } else if (result.options.find("topic") != result.options.npos) {
        CHECK(replies() == result.text);
      } else {
        CHECK(rows(sql_.back().text) == result.text);
      }
    }
  }

  /// As `psql --no-align --tuples-only` prints them.
  std::string rows(const std::string& query) {
    return run_to_end({.arguments = {"psql", "--no-psqlrc", "--no-align", "--tuples-only", "--command", query, url_}})
        .out;
  }

  std::string replies() {
    std::string out;
    for (const ReadRecord& record : read_topic(kafka_.brokers(), replies_, kafka_.ends(replies_))) {
      out += record.key.value_or("") + "|" + record.payload.value_or("") + "\n";
    }
    return out;
  }

  const std::vector<Block> blocks_, sql_;
  Kafka kafka_;
  std::string url_, file_, topic_, replies_;
  bool is_local_ = false;
  TempFolder folder_;
  std::unique_ptr<Process> service_;
};

}  // namespace

TEST_CASE("each recipe gives the result that its page shows") {
  PrivatePostgres server;
  std::set<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator{INBOXD_RECIPES}) {
    if (entry.path().filename() != "README.md") pages.insert(entry.path());
  }
  CHECK(pages.size() >= 15);
  for (const auto& page : pages) {
    INFO("recipe " << page);
    Recipe{page, server}.run();
  }
}

TEST_CASE("the list of recipes names each page") {
  const std::string list = read_file(std::filesystem::path{INBOXD_RECIPES} / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator{INBOXD_RECIPES}) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK((name == "README.md" || list.find("(" + name + ")") != list.npos));
  }
}
