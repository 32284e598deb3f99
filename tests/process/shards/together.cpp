// Reads of several databases as one: --shards.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/shards/listed_shards.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

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
  CHECK_THAT(shards.run({"events", "show", third}).out, ContainsSubstring("shard 1\n"));
  CHECK(shards.run({"events", "trace", third}).status == ExitStatus{0, 0});
  CHECK(shards.run({"events", "show", "00000000-0000-4000-8000-000000000009"}).status == ExitStatus{1, 0});
}

TEST_CASE("with --shards a database that is away is named, and the others are shown") {
  ListedShards shards;
  shards.lose_database(1);
  const auto listed = shards.run({"partitions", "list"});
  CHECK(listed.status == ExitStatus{69, 0});
  CHECK_THAT(listed.out, ContainsSubstring(shards.fixture().topic));
  CHECK_THAT(listed.err, ContainsSubstring("shard 1 (") && ContainsSubstring(ListedShards::file(1)));
  const auto status = shards.run({"status"});
  CHECK(status.status == ExitStatus{69, 0});
  CHECK_THAT(status.out, ContainsSubstring("1 problem") && ContainsSubstring("shard 1 ("));
}

TEST_CASE("with --shards a configuration whose database has another share is named, and its rows are not shown") {
  ListedShards shards;
  auto wrong = shards.fixture().shards[1]->config;
  wrong.url = shards.fixture().shards[0]->config.url;
  wrong.schema = shards.fixture().shards[0]->config.schema;
  write_file(shards.folder() / ListedShards::file(1), wrong.text());
  const auto listed = shards.run({"events", "list"});
  CHECK(listed.status == ExitStatus{78, 0});
  CHECK_THAT(listed.err, ContainsSubstring("shard 1 (") && ContainsSubstring(ListedShards::file(1)) &&
                             ContainsSubstring("was first used with shard: {index: 0, of: 2}"));
  CHECK(shards.answer({"events", "list"}).at("events").size() == 2);
  CHECK(shards.run({"status"}).status == ExitStatus{78, 0});
}

TEST_CASE("a list that lacks a database is refused") {
  ListedShards shards;
  write_file(shards.folder() / "shards.yaml", "[" + ListedShards::file(0) + "]\n");
  const auto refused = shards.run({"status"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.err, ContainsSubstring("no configuration has partition 1"));
}

TEST_CASE("changes, and commands on one database, refuse --shards and name the configurations") {
  ListedShards shards;
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"dead", "replay", "--handler", "recorder", "--yes"},
        std::vector<std::string>{"handlers", "pause", "recorder", "--yes"}, std::vector<std::string>{"check"},
        std::vector<std::string>{"status", "--watch"}}) {
    const auto refused = shards.run(arguments);
    CHECK(refused.status == ExitStatus{64, 0});
    CHECK_THAT(refused.err, ContainsSubstring("does not read several databases: leave out --shards, or replace it") &&
                                ContainsSubstring(ListedShards::file(1)));
  }
  write_file(shards.folder() / "shards.yaml", "database: {}\n");
  const auto wrong = shards.run({"status"});
  CHECK(wrong.status == ExitStatus{78, 0});
  CHECK_THAT(wrong.err, ContainsSubstring("write a list of 1 to 1024 configuration files"));
}
