// Databases that are away, on the page of several databases.
#include "cli/shards_page.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::cli::name_away;
using inboxd::operations::Document;

TEST_CASE("a status names each database that is away as a problem, so that it is not well") {
  const Document well{{"is_well", true}, {"verdict", "all is well"}, {"findings", Document::array()}};
  Document status = well;
  name_away(status, {});
  CHECK(status == well);
  name_away(status, {"shard 1 (b.yaml): refused"});
  CHECK(status.at("is_well") == false);
  CHECK(status.at("verdict") == "shard 1 (b.yaml): refused");
  CHECK(status.at("problems").size() == 1);
  CHECK(status.at("findings").at(0).at("severity") == "problem");
  CHECK(status.at("findings").at(0).at("message") == "shard 1 (b.yaml): refused");
}

TEST_CASE("other answers name the databases that are away in a list") {
  Document list{{"partitions", Document::array()}};
  name_away(list, {"shard 1 (b.yaml): refused"});
  CHECK(list.at("away") == Document{"shard 1 (b.yaml): refused"});
}
