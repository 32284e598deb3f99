#include "cli/bundle.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::cli;
using inboxd::operations::Document;

TEST_CASE("a large part of a bundle loses the end of its longest list, and says how many members") {
  Document part{{"small", {1, 2}}, {"partitions", Document::array()}};
  for (int i = 0; i < 1'000; ++i) part["partitions"].push_back({{"topic", "orders"}, {"partition", i}});
  fit(part, 4'000);
  CHECK(part.dump().size() <= 4'000);
  CHECK(part["small"].size() == 2);
  CHECK(part["partitions"].size() + part["left_out"].get<std::size_t>() == 1'000);
}

TEST_CASE("a large text of a bundle is cut, and a part that cannot be shortened is left out") {
  Document part{{"text", std::string(10'000, 'x')}};
  fit(part, 3'000);
  CHECK(part.dump().size() <= 3'000);
  Document flat = Document::object();
  for (int i = 0; i < 1'000; ++i) flat["key" + std::to_string(i)] = i;
  fit(flat, 3'000);
  CHECK(flat.dump() == R"({"left_out":"larger than 3000 bytes"})");
}

TEST_CASE("a text of a bundle that is not UTF-8 is measured, and cut") {
  std::string latin;
  for (int i = 0; i < 5'000; ++i) latin += "caf\xe9 ";
  Document part{{"text", latin}};
  fit(part, 3'000);
  CHECK(part.dump(-1, ' ', false, Document::error_handler_t::replace).size() <= 3'000);
}

TEST_CASE("hidden texts leave a bundle, whole and as base64, at any depth") {
  Document part{{"message", "refused: 'hush-word'"}};
  part["inner"] = {{{"text", "Basic aHVzaC13b3Jk, and aHVzaC13b3Jk="}}, 5};
  hide(part, {"hush-word"});
  CHECK(part["message"] == "refused: '********'");
  CHECK(part["inner"][0]["text"] == "Basic ********, and ********=");
  CHECK(part["inner"][1] == 5);
}
