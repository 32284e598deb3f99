// Reads of several databases as one: --shards.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/shards/shards_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Two databases with events, and the list of their configurations.
class ListedShards final {
 public:
  ListedShards() {
    for (auto& shard : fixture_.shards) daemons_.push_back(shard->start());
    std::vector<Message> messages;
    for (int i = 0; i < 4; ++i) {
      messages.push_back(event_message(fixture_.topic, "00000000-0000-4000-8000-00000000000" + std::to_string(i)));
      messages.back().partition = i;
    }
    fixture_.kafka.produce(messages);
    fixture_.wait_done(4);
    for (std::size_t i = 0; i < 2; ++i) write_file(folder_ / file(i), fixture_.shards[i]->config.text());
    write_file(folder_ / "shards.yaml", "[" + file(0) + ", " + file(1) + "]\n");
  }

  static std::string file(std::size_t number) { return "shard-" + std::to_string(number) + ".yaml"; }
  ShardsFixture& fixture() { return fixture_; }
  const TempFolder& folder() const { return folder_; }
  Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--shards", folder_ / "shards.yaml"});
    return command(fixture_.shards[0]->config, arguments);
  }
  nlohmann::json answer(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    return nlohmann::json::parse(run(std::move(arguments)).out);
  }

 private:
  ShardsFixture fixture_{4, {needed("INBOXD_TEST_PG"), needed("INBOXD_TEST_PG")}};
  const TempFolder folder_;
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
};

}  // namespace

TEST_CASE("reads with --shards show the rows of all databases, with the shard of each") {
  ListedShards shards;
  const auto status = shards.run({"status"});
  INFO(status.out << status.err);
  CHECK(status.status == ExitStatus{0, 0});
  CHECK_THAT(status.out, ContainsSubstring("no problems") || ContainsSubstring("all is well"));
  CHECK_THAT(status.out, ContainsSubstring("SHARD"));
  CHECK(shards.answer({"status"}).at("topics").size() == 4);
  const auto partitions = shards.answer({"partitions", "list"}).at("partitions");
  REQUIRE(partitions.size() == 4);
  for (const auto& row : partitions) CHECK(row.at("shard") == row.at("partition").get<int>() % 2);
  CHECK(shards.answer({"events", "list"}).at("events").size() == 4);
  CHECK(shards.answer({"handlers", "list"}).at("handlers").size() == 2);
  CHECK(shards.answer({"dead", "list"}).at("dead_letters").empty());
  const std::string third = "00000000-0000-4000-8000-000000000003";
  CHECK(shards.answer({"events", "show", third}).at("shard") == 1);
  CHECK(shards.run({"events", "trace", third}).status == ExitStatus{0, 0});
  CHECK(shards.run({"events", "show", "00000000-0000-4000-8000-000000000009"}).status == ExitStatus{1, 0});
}

TEST_CASE("with --shards a database that is away is named, and the others are shown") {
  ListedShards shards;
  auto away = shards.fixture().shards[1]->config;
  away.url = url_with_port(away.url, 1);
  write_file(shards.folder() / ListedShards::file(1), away.text());
  const auto listed = shards.run({"partitions", "list"});
  CHECK(listed.status == ExitStatus{69, 0});
  CHECK_THAT(listed.out, ContainsSubstring(shards.fixture().topic));
  CHECK_THAT(listed.err, ContainsSubstring("shard 1 (") && ContainsSubstring(ListedShards::file(1)));
}

TEST_CASE("changes, and commands on one database, refuse --shards and name the configurations") {
  ListedShards shards;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"dead", "replay", "--handler", "recorder", "--yes"},
        std::vector<std::string>{"handlers", "pause", "recorder", "--yes"}, std::vector<std::string>{"check"},
        std::vector<std::string>{"status", "--watch"}}) {
    const auto refused = shards.run(arguments);
    CHECK(refused.status == ExitStatus{64, 0});
    CHECK_THAT(refused.err, ContainsSubstring("runs on one database: in place of --shards, pass --config with") &&
                                ContainsSubstring(ListedShards::file(1)));
  }
  write_file(shards.folder() / "shards.yaml", "database: {}\n");
  const auto wrong = shards.run({"status"});
  CHECK(wrong.status == ExitStatus{78, 0});
  CHECK_THAT(wrong.err, ContainsSubstring("write a list of 1 to 1024 configuration files"));
}
