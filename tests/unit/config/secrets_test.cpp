// Values from outside the file, and values that must never be shown.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/show.hpp"
#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;

namespace {

std::string with_password(const std::string& password) {
  return replaced(needed, "{url:", "{password: " + password + ", url:");
}

std::string with_url(const std::string& url) {
  return replaced(needed, "\"postgresql://app@localhost/app\"", "\"" + url + "\"");
}

std::string with_group(const std::string& group) {
  return replaced(needed, "group: inboxd", "group: \"" + group + "\"");
}

}  // namespace

TEST_CASE("variables in values are replaced once, without recursion") {
  const FakeEnvironment environment{{{"A", "one"}, {"EMPTY", ""}, {"NESTED", "${A}"}, {"N", "7"}}, {}, false};
  const auto group = [&](const std::string& text) { return load(with_group(text), environment).settings.kafka.group; };
  CHECK(group("${A}") == "one");
  CHECK(group("x-${A}-${A}") == "x-one-one");
  CHECK(group("${NONE:-two}") == "two");
  CHECK(group("${EMPTY:-two}") == "two");
  CHECK(group("${A:-two}") == "one");
  CHECK(group("a${NONE:-}b") == "ab");
  CHECK(group("${NESTED}") == "${A}");
  CHECK(group("${NONE:-$A}") == "$A");
  CHECK(group("$${A}") == "${A}");
  CHECK(group("a$") == "a$");
  CHECK(group("a$|b") == "a$|b");
  const auto number = load(needed + "ingest:\n  batch_events: \"${N}\"\n  run_events: ${N}\n", environment);
  CHECK(number.settings.ingest.batch_events == 7);
  CHECK(number.settings.ingest.run_events == 7);
}

TEST_CASE("a variable without quotes inside braces is refused with a hint") {
  CHECK_THAT(problems(load(needed + "log: {level: ${LEVEL}}\n")),
             ContainsSubstring("quote each ${NAME} inside { } or [ ]"));
}

TEST_CASE("a variable holds a value, never keys") {
  const FakeEnvironment environment{{{"X", "{level: debug}"}, {"KEY", "level"}}, {}, false};
  CHECK_THAT(problems(load(needed + "log: ${X}\n", environment)), ContainsSubstring("log: must hold keys"));
  CHECK_THAT(problems(load(needed + "log: {\"${KEY}\": info}\n", environment)),
             ContainsSubstring("unknown key"));
}

TEST_CASE("a missing or malformed variable is a problem") {
  CHECK_THAT(problems(load(with_group("${NONE}"))),
             Equals("inboxd.yaml:2:43: kafka.group: the environment variable NONE is not set; set it, or write "
                    "${NONE:-default}\n"));
  CHECK_THAT(problems(load(with_group("${NONE"))), ContainsSubstring("'${' has no '}'"));
  CHECK_THAT(problems(load(with_group("${1}"))), ContainsSubstring("not followed by a variable's name"));
  CHECK_THAT(problems(load(with_group("$HOME"))), ContainsSubstring("'$' before a name; write ${NAME}"));
  const FakeEnvironment latin{{{"A", "\xe9"}}, {}, false};
  CHECK_THAT(problems(load(with_group("${A}"), latin)), ContainsSubstring("variable A is not UTF-8 text"));
}

TEST_CASE("a secret comes from a file, a credential or a variable") {
  const FakeEnvironment environment{{{"PASSWORD", "from-env"}, {"CREDENTIALS_DIRECTORY", "/run/c"}, {"DIR", "/run/s"}},
                                    {{"/run/s/pg", "from-file\n"}, {"/run/c/pg", "from-credential\r\n"}},
                                    false};
  const auto password = [&](const std::string& text) {
    const auto loaded = load(with_password(text), environment);
    CHECK_THAT(everything_said(loaded), Equals(""));
    return loaded.settings.database.password.reveal();
  };
  CHECK(password("{file: /run/s/pg}") == "from-file");
  CHECK(password("{file: \"${DIR}/pg\"}") == "from-file");
  CHECK(password("{credential: pg}") == "from-credential");
  CHECK(password("{env: PASSWORD}") == "from-env");
  CHECK(password("\"${PASSWORD}\"") == "from-env");
}

TEST_CASE("a relative path of a secret begins at the folder of the configuration") {
  const FakeEnvironment environment{
      {}, {{"/etc/inboxd/secrets/pg", "of-folder"}, {"secrets/pg", "of-working-directory"}}, false};
  const auto secret = [&](const std::string& file) {
    return load_text(with_password("{file: secrets/pg}"), file, environment.get()).settings.database.password;
  };
  CHECK(secret("/etc/inboxd/inboxd.yaml").reveal() == "of-folder");
  CHECK(secret("/etc/inboxd/inboxd.yaml").file() == "/etc/inboxd/secrets/pg");  // read again later
  CHECK(secret("inboxd.yaml").reveal() == "of-working-directory");
}

TEST_CASE("a secret in the file itself works, with a warning") {
  const auto loaded = load(with_password("hunter2"));
  CHECK(loaded.ok());
  CHECK(loaded.settings.database.password.reveal() == "hunter2");
  CHECK_THAT(warnings(loaded),
             Equals("inboxd.yaml:1:22: database.password: the secret is in the file itself; use "
                    "{file: /path}, {credential: name} or {env: NAME}\n"));
}

TEST_CASE("an unreadable secret is a problem, but not offline") {
  FakeEnvironment environment;
  environment.files["/empty"] = "\n";
  const auto said = [&](const std::string& text) { return problems(load(with_password(text), environment)); };
  CHECK_THAT(said("{file: /none}"),
             Equals("inboxd.yaml:1:29: database.password: the file /none cannot be read: No such "
                    "file or directory\n"));
  CHECK_THAT(said("{file: /empty}"), ContainsSubstring("the secret is empty"));
  CHECK_THAT(said("{credential: pg}"),
             ContainsSubstring("needs $CREDENTIALS_DIRECTORY") &&
                 ContainsSubstring("systemd-run --pipe --wait -p LoadCredential=pg:/etc/credstore/inboxd.pg inboxd"));
  CHECK_THAT(said("{credential: ../pg}"), ContainsSubstring("a plain file name"));
  CHECK_THAT(said("{env: NONE}"), ContainsSubstring("the environment variable NONE is not set"));
  environment.offline = true;
  for (const char* const form : {"{file: /none}", "{credential: pg}", "{env: NONE}"})
    CHECK_THAT(said(form), Equals(""));
  CHECK_THAT(said("{path: /none}"), ContainsSubstring("not a secret; write {file: /path}"));
}

TEST_CASE("a password is removed from the URL, with a warning") {
  const auto check = [](const std::string& url, const std::string& rest, const std::string& password) {
    CAPTURE(url);
    const auto loaded = load(with_url(url));
    CHECK_THAT(problems(loaded), Equals(""));
    CHECK(loaded.settings.database.url == rest);
    CHECK(loaded.settings.database.password.reveal() == password);
    const bool is_warned = warnings(loaded).find("the URL holds the password in plain text") != std::string::npos;
    CHECK(is_warned == !password.empty());
  };
  check("postgresql://app:hunter2@db/app", "postgresql://app@db/app", "hunter2");
  check("postgres://app:h%40u%2Fn@db:5432/app?sslmode=require", "postgres://app@db:5432/app?sslmode=require", "h@u/n");
  check("postgresql://db/app?password=hunter2&sslmode=require", "postgresql://db/app?sslmode=require", "hunter2");
  check("postgresql://db/app?sslmode=require&pass%77ord=hunter2", "postgresql://db/app?sslmode=require", "hunter2");
  check("postgresql://[::1]:5432/app", "postgresql://[::1]:5432/app", "");
  check("postgresql:///app?user=x@y:z", "postgresql:///app?user=x@y:z", "");
  check("postgresql://", "postgresql://", "");
  check("host=db password=hunter2 user=app", "host=db user=app", "hunter2");
  check("host=db user = app password = 'hun\\\\'ter 2'", "host=db user = app", "hun'ter 2");
  check("password=hunter2", "", "hunter2");
}

TEST_CASE("an invalid URL, or a URL with two passwords, is refused without repeating it") {
  for (const std::string url : {"hunter2", "mysql://app:hunter2@db/app", "host=db hunter2", "host=db password='hunter2",
                                "postgresql://app:hunter2%@db", "postgresql://app:hunter2@db?password=hunter2",
                                "password=hunter2 password=hunter2", "postgresql://app:hunter2/hunter2@db/app",
                                "postgresql://app:hunter2@hunter2@db/app", "postgres://app:/hunter2@db:5432/app?a=b"}) {
    CAPTURE(url);
    const auto loaded = load(with_url(url));
    CHECK_THAT(problems(loaded), ContainsSubstring("inboxd.yaml:1:12: database.url: "));
    CHECK(everything_said(loaded).find("hunter2") == std::string::npos);
  }
  const auto two_lines = load(with_url("postgresql://app:hunter2@db/\\n"));
  CHECK_THAT(problems(two_lines),
             ContainsSubstring("inboxd.yaml:1:17: database.url: not a libpq URL of one line"));
  CHECK(everything_said(two_lines).find("hunter2") == std::string::npos);
  CHECK_THAT(problems(load(replaced(with_url("postgresql://app:hunter2@db/app"), "{url:", "{password: hunter2, url:"))),
             ContainsSubstring("the URL holds a password in addition to database.password"));
}

TEST_CASE("librdkafka's secrets come from outside the file, too") {
  FakeEnvironment environment;
  environment.files["/s"] = "hunter2\n";
  const auto loaded = load(
      replaced(needed, "group:", "properties: {security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: me, "
               "sasl.password: {file: /s}}, group:"), environment);
  CHECK_THAT(everything_said(loaded), Equals(""));
  CHECK(loaded.settings.kafka.properties.at("sasl.password") == "hunter2");
  CHECK_THAT(problems(load(replaced(needed, "group:", "properties: {sasl.username: {path: /s}}, group:"), environment)),
             ContainsSubstring("kafka.properties.sasl.username: a property is one value under a dotted name"));
}

// fault: secrets under any name, from any form
TEST_CASE("no message or listing shows a secret, whatever its place and spelling") {
  FakeEnvironment environment;
  environment.variables["SECRET"] = "hunter2";
  environment.files["/s"] = "hunter2";
  for (const std::string password : {"hunter2",
                                     "{file: /s}",
                                     "{env: SECRET}",
                                     "\"${SECRET}\"",
                                     "[hunter2]",
                                     "{hunter2: x}",
                                     "{hunter2}",
                                     "&hunter2 x",
                                     "*hunter2",
                                     "!hunter2 x",
                                     "!hunter2",
                                     "\"${hunter2!}\"",
                                     "\"$hunter2\"",
                                     "\"${hunter2\"",
                                     "\"hunter2\\0\"",
                                     "\"hunter2\\n\"",
                                     "%hunter2",
                                     "@hunter2",
                                     "hunter2, hunter2: {",
                                     "'hunter2"}) {
    CAPTURE(password);
    const auto loaded = load(with_password(password), environment);
    if (password != "hunter2, hunter2: {") CHECK(everything_said(loaded).find("hunter2") == std::string::npos);
    CHECK(show_text(loaded).find("hunter2") == std::string::npos);
    CHECK(show_json(loaded).find("hunter2") == std::string::npos);
  }
  const auto loaded = load(replaced(with_url("postgresql://a:hunter2@b/c?sslpassword=hunter2"),
                                    "group:", "properties: {sasl.password: hunter2, ssl.key.pem: hunter2}, group:") +
                               "    settings: {signing_secret: hunter2, url: \"https://me:hunter2@host/\"}\n",
                           environment);
  REQUIRE(loaded.ok());
  CHECK(loaded.settings.handlers[0].settings.at("signing_secret") == "hunter2");
  CHECK(everything_said(loaded).find("hunter2") == std::string::npos);
  CHECK(show_text(loaded).find("hunter2") == std::string::npos);
  CHECK(show_json(loaded).find("hunter2") == std::string::npos);
  CHECK_THAT(show_text(loaded), ContainsSubstring("database.password: ********"));
  CHECK_THAT(show_text(loaded), ContainsSubstring("kafka.properties.sasl.password: ********"));
}

// fault: secrets under any name, from any form
TEST_CASE("wherever a setting holds a text it may come from a file, credential or variable, and is never shown then") {
  FakeEnvironment environment;
  environment.variables = {{"E", "hush-env"}, {"CREDENTIALS_DIRECTORY", "/c"}, {"production", "x"}};
  environment.files = {{"/f", "hush-file\n"}, {"/c/n", "hush-credential"}, {"/url", "postgresql://hush@localhost/app"}};
  const std::string text = replaced(replaced(needed, "\"postgresql://app@localhost/app\"", "{file: /url}"),
                                    "group: inboxd", "group: {env: E}, properties: {sasl.username: {file: /f}}") +
                           R"(    aliases: [{credential: n}]
    settings:
      headers: {X-Api-Key: {file: /f}, Cookie: {env: E}, Accept: "text/plain", X-Functions-Key: hush-literal}
      environment: {SMTP_PASS: {credential: n}, TZ: UTC}
      anything: {file: /f}
      nested: [{deep: {env: E}}]
)";
  const auto loaded = load(text, environment);
  CHECK_THAT(problems(loaded), Equals(""));
  const Settings& settings = loaded.settings;
  CHECK(settings.database.url == "postgresql://hush@localhost/app");
  CHECK(settings.kafka.group == "hush-env");
  CHECK(settings.kafka.properties.at("sasl.username") == "hush-file");
  CHECK(settings.handlers[0].aliases == std::vector<std::string>{"hush-credential"});
  const auto& own = settings.handlers[0].settings;
  CHECK(own.at("headers") == R"({"Accept":"text/plain","Cookie":"hush-env","X-Api-Key":"hush-file",)"
                             R"("X-Functions-Key":"hush-literal"})");
  CHECK(own.at("environment") == R"({"SMTP_PASS":"hush-credential","TZ":"UTC"})");
  CHECK(own.at("anything") == "hush-file");
  CHECK(own.at("nested") == R"([{"deep":"hush-env"}])");
  for (const std::string& shown : {show_text(loaded), show_json(loaded)}) {
    CHECK_THAT(shown, !ContainsSubstring("hush"));
    CHECK_THAT(shown, ContainsSubstring("X-Functions-Key") && ContainsSubstring("TZ"));
  }
  CHECK(without_secrets("'hush-env' is no URL", loaded) == "'********' is no URL");
  environment.offline = true;
  CHECK_THAT(problems(load(text, environment)), Equals(""));
}

TEST_CASE("a map whose names the user chooses is no form of a secret") {
  const auto loaded = load(needed + "    settings: {environment: {env: production}, headers: {file: x}}\n");
  CHECK_THAT(problems(loaded), Equals(""));
  CHECK(loaded.settings.handlers[0].settings.at("environment") == R"({"env":"production"})");
  CHECK(loaded.settings.handlers[0].settings.at("headers") == R"({"file":"x"})");
}

TEST_CASE("a wrong text from a file is refused without being repeated") {
  FakeEnvironment environment;
  environment.files["/f"] = "hush hush";
  const auto loaded =
      load(replaced(needed, "url: \"postgresql://app@localhost/app\"", "url: {file: /f}"), environment);
  CHECK_FALSE(loaded.ok());
  CHECK_THAT(everything_said(loaded), !ContainsSubstring("hush"));
}
