// YAML features that a configuration may not use.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <ctime>

#include "unit/config/files.hpp"

using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

TEST_CASE("an unknown key is refused with its place and a suggestion") {
  CHECK_THAT(problems(load(needed + "ingest:\n  batch_event: 5\n")),
             Equals("inboxd.yaml:10:3: ingest.batch_event: unknown key; did you mean batch_events?\n"));
  CHECK_THAT(problems(load(needed + "retentoin: {}\n")), ContainsSubstring("did you mean retention?"));
  CHECK_THAT(problems(load(needed + "ingest: {batch-events: 5}\n")), ContainsSubstring("did you mean batch_events?"));
  CHECK_THAT(problems(load(needed + "queued_bytes: 5\n")),
             ContainsSubstring("unknown key here; it belongs in ingest"));
  CHECK_THAT(problems(load(needed + "log: {zzz: 5}\n")), ContainsSubstring("known keys: level, format"));
}

TEST_CASE("an unknown key of a handler may be a setting of its plugin") {
  CHECK_THAT(problems(load(needed + "    url: http://localhost/\n")),
             Equals("inboxd.yaml:9:5: handlers[0].url: unknown key here; a setting of the plugin belongs in "
                    "settings\n"));
  CHECK_THAT(problems(load(needed + "    backoff: fixed\n")), ContainsSubstring("it belongs in handlers[].retry\n"));
}

TEST_CASE("a key of a later version is unknown like any other") {
  const auto loaded = load(needed + "    isolation: process\n");
  CHECK_THAT(problems(loaded), ContainsSubstring("inboxd.yaml:9:5: handlers[0].isolation: unknown key"));
}

TEST_CASE("a rate is a number of events per second, minute or hour") {
  const auto loaded = [](const std::string& rate) { return load(needed + "    rate: " + rate + "\n"); };
  const auto per_second = [&](const std::string& rate) {
    return inboxd::config::rate_per_second(loaded(rate).settings.handlers.at(0));
  };
  CHECK(per_second("100/s") == 100.0);
  CHECK(per_second("90/m") == 1.5);
  CHECK(per_second("36/h") == 0.01);
  CHECK_FALSE(per_second("unlimited"));
  for (const char* const wrong : {"0/s", "100", "100/d", "1.5/s", "-1/s", "10000000000/s"}) {
    CHECK_THAT(problems(loaded(wrong)), ContainsSubstring("a number per s, m or h, such as 100/s"));
  }
}

TEST_CASE("a key with dots is refused, because keys are nested") {
  CHECK_THAT(problems(load(needed + "log.level: debug\n")),
             ContainsSubstring("inboxd.yaml:9:1: log.level: unknown key; nest keys instead of writing dots"));
}

// fault: duplicate key
TEST_CASE("a duplicate key is refused with both places, at every depth") {
  CHECK_THAT(problems(load(needed + "log: {level: info, level: debug}\n")),
             Equals("inboxd.yaml:9:20: log.level: duplicate key, first in line 9; remove one\n"));
  CHECK_THAT(problems(load(needed + "log: {}\nkafka: {}\n")),
             Equals("inboxd.yaml:10:1: kafka: duplicate key, first in line 2; remove one\n"));
  CHECK_THAT(problems(load(needed + "    settings: {a: {b: 1, b: 2}}\n")),
             ContainsSubstring("handlers[0].settings.a.b: duplicate key"));
}

TEST_CASE("anchors, aliases and tags are refused") {
  CHECK_THAT(problems(load(needed + "log: &here {level: info}\n")),
             ContainsSubstring("inboxd.yaml:9:6: log: an anchor (&name) is not allowed"));
  CHECK_THAT(problems(load(needed + "log: &here {}\nretention: *here\n")),
             ContainsSubstring("inboxd.yaml:10:12: retention: an alias (*name) is not allowed"));
  CHECK_THAT(problems(load(needed + "retention: *nowhere\n")), ContainsSubstring("an alias (*name) is not allowed"));
  for (const char* const tagged : {"!!str info", "!own info", "! info", "!!str", "!<tag:x> info", "!!str \"info\""}) {
    CAPTURE(tagged);
    CHECK_THAT(problems(load(needed + "log:\n  level: " + tagged + "\n")),
               ContainsSubstring("inboxd.yaml:10:10: log.level: a tag (!name) is not allowed"));
  }
  CHECK_THAT(problems(load(needed + "log: !!map {}\n")), ContainsSubstring("a tag (!name) is not allowed"));
  CHECK_THAT(problems(load(needed + "log:\n  !!str level: info\n")), ContainsSubstring("a tag (!name)"));
}

TEST_CASE("a merge key is refused like any unknown key") {
  CHECK_THAT(problems(load(needed + "log:\n  <<: {level: info}\n")), ContainsSubstring("log.<<: unknown key"));
}

TEST_CASE("a YAML bomb is refused at once") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'z'; ++name) {
    bomb += std::string{name} + ": &" + name + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string{i == 0 ? "*" : ", *"} + static_cast<char>(name - 1);
    bomb += "]\n";
  }
  const std::clock_t begin = std::clock();  // of this process: others may have the processors
  const auto loaded = load(bomb);
  CHECK(std::clock() - begin < 5 * CLOCKS_PER_SEC);
  CHECK_THAT(problems(loaded), ContainsSubstring("inboxd.yaml:1:4: a: an anchor"));
  CHECK(loaded.problems.size() <= inboxd::config::Findings::limit + 1);
  CHECK_THAT(problems(loaded), ContainsSubstring(" more\n"));
}

TEST_CASE("nesting that could exhaust the stack is refused in every notation") {
  const auto repeated = [](std::string_view part, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += part;
    return out;
  };
  for (const std::string_view part : {"[", "{", "{a: ", "[{a: ", "- ", "? ", "? - ", "[\n", "{\n"}) {
    CAPTURE(part);
    const std::clock_t begin = std::clock();  // of this process: others may have the processors
    CHECK_THAT(problems(load(repeated(part, 100'000))), ContainsSubstring("inboxd.yaml:"));
    CHECK_THAT(problems(load("log: " + repeated(part, 100'000))), ContainsSubstring("inboxd.yaml:"));
    CHECK(std::clock() - begin < 20 * CLOCKS_PER_SEC);
  }
  CHECK_THAT(problems(load(repeated("[", 100'000) + repeated("]", 100'000))),
             ContainsSubstring("nested deeper than 32"));
  CHECK_THAT(problems(load("a: " + repeated("[", 33) + repeated("]", 33))), ContainsSubstring("nested deeper than"));
}

TEST_CASE("a file over 1 MiB is refused without parsing") {
  CHECK_THAT(problems(load(needed + std::string(1 << 20, '#'))), Equals("inboxd.yaml: the file is larger than 1 MiB; "
                                                                        "no configuration needs that\n"));
}

TEST_CASE("several documents are refused") {
  CHECK_THAT(problems(load(needed + "---\nlog: {}\n")), ContainsSubstring("a second document begins here"));
  CHECK(load("---\n" + needed).ok());
}

TEST_CASE("bytes that are not UTF-8 are refused with their line") {
  CHECK_THAT(problems(load(needed + "# \xff\n")),
             Equals("inboxd.yaml:9:1: the line is not UTF-8 text; save the file as "
                    "UTF-8\n"));
  CHECK_THAT(problems(load(needed + std::string("# \0\n", 4))), ContainsSubstring("inboxd.yaml:9:1: "));
  CHECK(load("\xEF\xBB\xBF" + needed).ok());
}

TEST_CASE("invalid YAML is refused with its place") {
  CHECK_THAT(problems(load("database: {url: x\n")), ContainsSubstring("inboxd.yaml:"));
  CHECK_THAT(problems(load("database:\n  url: x\n kafka: y\n")), ContainsSubstring("not valid YAML"));
  CHECK_THAT(problems(load(needed + "    settings: {topic: {type}.copy}\n")),
             ContainsSubstring("brackets, and quote a text with braces\n"));
  CHECK_THAT(problems(load(needed + "? [a]\n: b\n")), ContainsSubstring("a key must be a text"));
  CHECK_THAT(problems(load("- a\n")), ContainsSubstring("the file must hold keys"));
  CHECK_THAT(problems(load("")), ContainsSubstring("inboxd.yaml:1:1: database.url: missing;"));
}

TEST_CASE("an indenting tab is reported with its place and the remedy") {
  const std::string remedy = "a tab indents this line; replace it with spaces\n";
  CHECK_THAT(problems(load(needed + "log:\n\tlevel: info\n")), Equals("inboxd.yaml:10:1: " + remedy));
  CHECK_THAT(problems(load(needed + "    retry:\n    \tbase: 1s\n")), Equals("inboxd.yaml:10:5: " + remedy));
  CHECK_THAT(problems(load(needed + "\n  -\tname: second\n")), ContainsSubstring("inboxd.yaml:10:4: a tab indents"));
  CHECK_THAT(problems(load(needed + "log:\t{level: info}\n")), Equals(""));
  CHECK_THAT(problems(load(needed + "log: {\n\tlevel: info}\n")), Equals(""));
}

TEST_CASE("control characters in a file cannot forge a line of output") {
  const auto loaded = load(needed + "\"x\\ny: forged\": 1\n");
  REQUIRE(loaded.problems.size() == 1);
  CHECK(loaded.problems[0].text().find('\n') == std::string::npos);
}
