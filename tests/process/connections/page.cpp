// The examples of config/security.md.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/daemon_process.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("each example of config/security.md is accepted by check --offline, without a warning") {
  const std::string page = read_file(INBOXD_SECURITY_PAGE), fence = "```yaml\n";
  int examples = 0;
  for (auto at = page.find(fence); at != std::string::npos; at = page.find(fence, at + 1), ++examples) {
    const auto begin = at + fence.size();
    const std::string file = page.substr(begin, page.find("```", begin) - begin) +
                             "topics: [{name: orders}]\nhandlers: [{name: first, plugin: log, subscribe: {}}]\n";
    const auto checked = command_with_file(file, {"check", "--offline"});
    INFO(file << checked.out << checked.err);
    CHECK(checked.status == ExitStatus{0, 0});
    CHECK_THAT(checked.out, ContainsSubstring("ok  configuration") && !ContainsSubstring("warning"));
  }
  CHECK(examples >= 7);
}
