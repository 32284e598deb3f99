// Answers of several databases as one.
#include "cli/shards.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace inboxd::cli;
using inboxd::base::ExitCode;
using inboxd::operations::Answer;
using inboxd::operations::Document;

TEST_CASE("rows of several databases are one list, with the shard of each; numbers are added up") {
  const Document a{{"rows", {{{"id", "a"}}}}, {"total", 3}, {"more", false}};
  const Document b{{"rows", {{{"id", "b"}}}}, {"total", 4}, {"more", true}};
  const auto all = merged({{2, {ExitCode::done, a, "", nullptr}}, {5, {ExitCode::done, b, "", nullptr}}}, false);
  CHECK(all.code == ExitCode::done);
  CHECK(all.document.dump() ==
        R"({"rows":[{"shard":2,"id":"a"},{"shard":5,"id":"b"}],"total":7,"more":true})");
}

TEST_CASE("the status of several databases is well if each is, and its verdict is of one that is not") {
  const Document well{{"is_well", true}, {"verdict", "all is well"}, {"findings", Document::array()}};
  const Document ill{{"is_well", false}, {"verdict", "1 problem"}, {"findings", {{{"kind", "partition_halted"}}}}};
  const auto all = merged({{0, {ExitCode::done, well, "", nullptr}}, {1, {ExitCode::no, ill, "", nullptr}}}, false);
  CHECK(all.code == ExitCode::no);
  CHECK(all.document.at("is_well") == false);
  CHECK(all.document.at("verdict") == "1 problem");
  CHECK(all.document.at("findings").at(0).at("shard") == 1);
  CHECK(merged({{0, {ExitCode::done, well, "", nullptr}}, {1, {ExitCode::done, well, "", nullptr}}}, false)
            .document.at("is_well") == true);
}

TEST_CASE("a page of several databases has no mark for the next") {
  const Document page{{"events", Document::array()}, {"next", "mark"}};
  const auto all = merged({{0, {ExitCode::done, page, "", nullptr}}, {1, {ExitCode::done, page, "", nullptr}}}, false);
  CHECK(all.document.at("next").is_null());
}

TEST_CASE("a list of several databases is found if one of them has a row of it") {
  const Document some{{"dead_letters", {{{"event_id", "a"}}}}, {"next", nullptr}};
  const Document none{{"dead_letters", Document::array()}, {"next", nullptr}};
  const auto code = [](const Document& second) {
    const ExitCode its = second.at("dead_letters").empty() ? ExitCode::no : ExitCode::done;
    const Document first{{"dead_letters", Document::array()}, {"next", nullptr}};
    return merged({{0, {ExitCode::no, first, "", nullptr}}, {1, {its, second, "", nullptr}}}, false).code;
  };
  CHECK(code(some) == ExitCode::done);
  CHECK(code(none) == ExitCode::no);
}

TEST_CASE("lists that are newest first stay so, and a search went as far as the databases went together") {
  const auto page = [](const char* one, const char* other, const char* until, bool complete) {
    return Document{{"events", {{{"received_at", one}}, {{"received_at", other}}}},
                    {"complete", complete},
                    {"next_until", until}};
  };
  const auto all = merged({{0, {ExitCode::done, page("2026-01-04", "2026-01-01", "2026-01-01", false), "", nullptr}},
                           {1, {ExitCode::done, page("2026-01-03", "2026-01-02", "2026-01-02", true), "", nullptr}}},
                          false);
  std::string order;
  for (const auto& row : all.document.at("events")) order += row.at("received_at").get<std::string>().back();
  CHECK(order == "4321");
  CHECK(all.document.at("complete") == false);
  CHECK(all.document.at("next_until") == "2026-01-02");
}

TEST_CASE("a list of several databases ends where one of them has more") {
  const auto page = [](const char* one, const char* other, const Document& next) {
    return Document{{"events", {{{"received_at", one}}, {{"received_at", other}}}}, {"next", next}};
  };
  const auto all = merged({{0, {ExitCode::done, page("2026-01-05", "2026-01-03", "mark"), "", nullptr}},
                           {1, {ExitCode::done, page("2026-01-04", "2026-01-01", nullptr), "", nullptr}}},
                          false);
  std::string order;
  for (const auto& row : all.document.at("events")) order += row.at("received_at").get<std::string>().back();
  CHECK(order == "543");
  CHECK(all.document.at("next").is_null());
  CHECK(all.message == "rows before 2026-01-03");
}

TEST_CASE("dead letters of several databases are listed by their deaths, not by the times of their events") {
  const auto list = [](const char* died, const char* received) {
    return Document{{"dead_letters", {{{"received_at", received}, {"died_at", died}}}}};
  };
  const auto all = merged({{0, {ExitCode::done, list("2026-01-05", "2026-01-04"), "", nullptr}},
                           {1, {ExitCode::done, list("2026-01-06", "2026-01-01"), "", nullptr}}},
                          false);
  CHECK(all.document.at("dead_letters").at(0).at("died_at") == "2026-01-06");
}

TEST_CASE("of a single event, the database that has it answers") {
  const auto found = merged({{0, {ExitCode::no, nullptr, "there is no such event", nullptr}},
                             {1, {ExitCode::done, {{"event", {{"event_id", "x"}}}}, "", nullptr}}},
                            true);
  CHECK(found.code == ExitCode::done);
  CHECK(found.document.at("shard") == 1);
  const auto none = merged({{0, {ExitCode::no, nullptr, "there is no such event", nullptr}}}, true);
  CHECK(none.code == ExitCode::no);
  CHECK(none.message == "there is no such event");
}

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
  name_away(status, {"shard 2 (c.yaml): refused"});
  CHECK(status.at("verdict") == "shard 2 (c.yaml): refused; shard 1 (b.yaml): refused");
}

TEST_CASE("other answers name the databases that are away in a list") {
  Document list{{"partitions", Document::array()}};
  name_away(list, {"shard 1 (b.yaml): refused"});
  CHECK(list.at("away") == Document{"shard 1 (b.yaml): refused"});
}

TEST_CASE("remedies of several databases run on the database that needs them") {
  const Document status{{"findings", {{{"remedy", "restart it, then inboxd quarantine retry --topic a"}}}}};
  const auto all = merged({{0, {ExitCode::done, status, "", nullptr}, "b.yaml"}}, false);
  CHECK(all.document.at("findings").at(0).at("remedy") ==
        "restart it, then inboxd --config b.yaml quarantine retry --topic a");
  const Document said{{"failures", {{{"message", "inboxd check failed"}}}}};  // by a handler
  const auto kept = merged({{0, {ExitCode::done, said, "", nullptr}, "b.yaml"}}, false);
  CHECK(kept.document.at("failures").at(0).at("message") == "inboxd check failed");
  const Document other{{"findings", {{{"remedy", "give programs other than inboxd a group of their own"}}}}};
  const auto same = merged({{0, {ExitCode::done, other, "", nullptr}, "b.yaml"}}, false);
  CHECK(same.document.at("findings").at(0).at("remedy") ==
        "give programs other than inboxd a group of their own");
  const auto spaced = merged({{0, {ExitCode::done, status, "", nullptr}, "it's b.yaml"}}, false);
  CHECK(spaced.document.at("findings").at(0).at("remedy") ==
        "restart it, then inboxd --config 'it'\\''s b.yaml' quarantine retry --topic a");
}

namespace {

std::vector<Shard> listed(const std::vector<std::pair<int, int>>& shards) {
  std::vector<Shard> out;
  for (const auto& [index, of] : shards) {
    Shard& shard = out.emplace_back();
    shard.file = std::string(1, static_cast<char>('a' + out.size() - 1)) + ".yaml";
    shard.settings.shard.index = index;
    shard.settings.shard.of = of;
  }
  return out;
}

}  // namespace

TEST_CASE("a list of databases has each partition once, of one group, also while their number grows") {
  CHECK(problem_of_list(listed({{1, 2}, {0, 2}})) == "");
  CHECK(problem_of_list(listed({{0, 1}})) == "");
  CHECK(problem_of_list(listed({{0, 4}, {1, 8}, {5, 8}, {2, 4}, {3, 4}})) == "");
  CHECK(problem_of_list(listed({{0, 3}, {2, 3}})) == "no configuration has partition 1: list all databases");
  CHECK(problem_of_list(listed({{0, 2}, {1, 4}})) == "no configuration has partition 3: list all databases");
  CHECK(problem_of_list(listed({{0, 2}, {0, 2}, {1, 2}})) ==
        "a.yaml and b.yaml both have partition 0: list each database once");
  CHECK(problem_of_list(listed({{1, 2}, {0, 2}, {4, 8}})) ==
        "b.yaml and c.yaml both have partition 4: list each database once");
  auto foreign = listed({{0, 2}, {1, 2}});
  foreign[1].settings.kafka.group = "other";
  CHECK_THAT(problem_of_list(foreign), Catch::Matchers::StartsWith("b.yaml has kafka.group other"));
}

TEST_CASE("a number that rows of several databases have is refused") {
  const Document row{{"dead_letter", {{"id", 12}}}};
  const auto all = merged({{0, {ExitCode::done, row, "", nullptr}, "a.yaml"},
                           {1, {ExitCode::done, row, "", nullptr}, "b.yaml"}},
                          true);
  CHECK(all.code == ExitCode::usage);
  CHECK(all.document.is_null());
  CHECK_THAT(all.message, Catch::Matchers::ContainsSubstring("--config with a.yaml, b.yaml"));
}
