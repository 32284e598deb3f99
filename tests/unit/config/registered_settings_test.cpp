#include "config/registered_settings.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;

namespace {

/// The registered settings of the only handler.
std::string registered(const std::string& rate, const std::string& settings, const std::string& secret) {
  const FakeEnvironment environment{{{"SECRET", secret}}, {{"/secret", secret}}, false};
  const Loaded loaded = load_text(needed + "    rate: " + rate + "\n    settings: " + settings + "\n", "inboxd.yaml",
                                  environment.get());
  REQUIRE(loaded.ok());
  return registered_settings(loaded.settings.handlers.at(0));
}

}  // namespace

TEST_CASE("registered settings differ with a setting, not with a secret or a value from a file or the environment") {
  CHECK(registered("1/s", "{url: a}", "") != registered("1/s", "{url: b}", ""));
  CHECK(registered("1/s", "{url: a}", "") != registered("2/s", "{url: a}", ""));
  for (const char* const settings : {"{url: {file: /secret}}", "{url: {env: SECRET}}", "{inner: {url: {env: SECRET}}}",
                                     "{urls: [a, {env: SECRET}]}", "{password: {env: SECRET}}"}) {
    CAPTURE(settings);
    CHECK(registered("1/s", settings, "one") == registered("1/s", settings, "two"));
  }
}
