// The list of the configurations of databases that share topics.
#include "config/shard_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/shared_topics.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a list of configurations names files relative to its own folder") {
  const support::TempFolder folder;
  const std::string list = folder / "shards.yaml";
  support::write_file(list, "- shard-0.yaml\n- /etc/inboxd/shard-1.yaml\n");
  const auto files = config::shard_files(list);
  REQUIRE(files.ok());
  CHECK(files.value() == std::vector<std::string>{folder / "shard-0.yaml", "/etc/inboxd/shard-1.yaml"});
}

TEST_CASE("a list of configurations that is no list of files is refused with its place") {
  const support::TempFolder folder;
  const std::string list = folder / "shards.yaml";
  CHECK_THAT(config::shard_files(list).problem().message, ContainsSubstring(list));
  for (const auto& [text, problem] : std::map<std::string, std::string>{
           {"{database: {}}\n", "write a list of 1 to 1024 configuration files"},
           {"[]\n", "write a list of 1 to 1024 configuration files"},
           {"- a.yaml\n- {b: c}\n", ":2:3: write the path of a configuration file"}}) {
    support::write_file(list, text);
    CHECK_THAT(config::shard_files(list).problem().message, ContainsSubstring(problem));
  }
}

TEST_CASE("a topic that the databases cannot divide needs the next multiple of their number") {
  CHECK(config::uneven_text({.index = 0, .of = 4}, "orders", 8) == "");
  CHECK_THAT(config::uneven_text({.index = 0, .of = 4}, "orders", 6),
             ContainsSubstring("topic orders has 6 partitions, which shard.of (4) does not divide") &&
                 ContainsSubstring("give it 8 partitions"));
}
