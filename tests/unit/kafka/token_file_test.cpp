#include "kafka/token_file.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <filesystem>

#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"
#include "support/test_environment.hpp"

namespace inboxd::kafka {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t quarter_ms = 900'000;

struct TokenFile {
  const support::TempFolder folder;
  const std::filesystem::path path = folder / "token";

  std::variant<Token, std::string> read(const std::string& content) const {
    support::write_file(path, content);
    return read_token(path.string(), quarter_ms);
  }
  std::string problem(const std::string& content) const {
    const auto out = read(content);
    const auto* const text = std::get_if<std::string>(&out);
    return text == nullptr ? "none" : *text;
  }
};

}  // namespace

TEST_CASE("the claims of a JSON web token say when it ends and who it is") {
  const TokenFile file;
  // {"alg":"none"} and {"sub":"app","exp":4102444800}
  const std::string token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhcHAiLCJleHAiOjQxMDI0NDQ4MDB9.";
  const auto read = file.read(token + "\r\n");
  REQUIRE(std::holds_alternative<Token>(read));
  CHECK(std::get<Token>(read).text == token);
  CHECK(std::get<Token>(read).principal == "app");
  CHECK(std::get<Token>(read).end_ms == 4'102'444'800'000);
  // {"exp":1000000000}
  CHECK_THAT(file.problem("eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.c2ln"),
             ContainsSubstring("expired at 2001-09-09T01:46:40Z; let the program that renews the token write the ") &&
                 ContainsSubstring(file.path.string()));
}

TEST_CASE("any other token ends a lifetime after its file was written") {
  const TokenFile file;
  // Neither base64, nor JSON, nor an object, nor a number, nor a token of three parts.
  for (const std::string token :
       {"aHR0cHM6Ly9rYWZrYQ", "a.b.c", "a.!.c", "e30.W10.", "e30.eyJleHAiOiIxIn0.", "..", "."}) {
    CAPTURE(token);
    const auto read = file.read(token);
    REQUIRE(std::holds_alternative<Token>(read));
    const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
    CHECK(std::get<Token>(read).end_ms > now.count() + quarter_ms - 60'000);
    CHECK(std::get<Token>(read).end_ms <= now.count() + quarter_ms);
  }
  std::filesystem::last_write_time(file.path, std::filesystem::file_time_type::clock::now() - 16min);
  const auto read = read_token(file.path.string(), quarter_ms);
  REQUIRE(std::holds_alternative<std::string>(read));
  CHECK_THAT(std::get<std::string>(read), ContainsSubstring("longer ago than sasl.oauthbearer.token.lifetime.ms"));
}

TEST_CASE("a file without a single token is refused without its text") {
  const TokenFile file;
  const auto missing = read_token(file.path.string(), quarter_ms);
  REQUIRE(std::holds_alternative<std::string>(missing));
  CHECK_THAT(std::get<std::string>(missing), ContainsSubstring("cannot be read: No such file") &&
                                                 ContainsSubstring("write the file " + file.path.string()));
  CHECK_THAT(file.problem("\n"), ContainsSubstring("is empty"));
  const std::string many(65'537, 'x');
  for (const std::string& content : {std::string{"secret token"}, std::string{"secret\ntoken"}, "secret" + many}) {
    CHECK_THAT(file.problem(content),
               ContainsSubstring("holds more than a single token") && !ContainsSubstring("secret"));
  }
}

TEST_CASE("the properties of a token's file are known, checked, and fit no other source of tokens") {
  CHECK(knows_property(token_file));
  CHECK(knows_property(token_lifetime));
  CHECK_FALSE(refusal_of_value(token_file, "/run/secrets/token"));
  CHECK_THAT(refusal_of_value(token_file, "token").value_or(""), ContainsSubstring("the path of the file itself"));
  CHECK_FALSE(refusal_of_value(token_lifetime, "900000"));
  for (const char* const value : {"", "15m", "999", "86400001", "1e5"}) {
    CHECK_THAT(refusal_of_value(token_lifetime, value).value_or(""), ContainsSubstring("it takes 1000 .. 86400000"));
  }
  const auto problem = [](std::map<std::string, std::string> properties) {
    auto conf = make_conf({"localhost:1", "", "", std::move(properties)});
    return conf ? std::string{} : conf.problem().message;
  };
  CHECK(problem({{token_file, "/t"}, {token_lifetime, "60000"}}).empty());
  CHECK_THAT(problem({{token_lifetime, "60000"}}), ContainsSubstring("it needs sasl.oauthbearer.token.file"));
  CHECK_THAT(problem({{token_file, "/t"}, {"sasl.oauthbearer.config", "principal=app"}}),
             ContainsSubstring("remove sasl.oauthbearer.config"));
}

}  // namespace inboxd::kafka
