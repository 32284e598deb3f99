// `cmake --install`: the installed files, and running from them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "package/support/packages.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("an install puts program, handlers, headers, units and documents in place below any prefix") {
  const TempFolder prefix;
  install_below(prefix.path());
  for (const char* const file : {"bin/inboxd",
                                 "lib/inboxd/exec.so",
                                 "lib/inboxd/log.so",
                                 "lib/inboxd/sql.so",
                                 "include/inboxd/handler.h",
                                 "include/inboxd/handler.hpp",
                                 "include/inboxd/json.h",
                                 "include/inboxd/outbox.h",
                                 "include/inboxd/outbox.hpp",
                                 "include/inboxd/sql.h",
                                 "include/inboxd/settings.hpp",
                                 "include/inboxd/sql.hpp",
                                 "include/inboxd/trace.h",
                                 "include/inboxd/trace.hpp",
                                 "lib/cmake/inboxd/inboxdConfig.cmake",
                                 "lib/systemd/system/inboxd.service",
                                 "lib/systemd/system/inboxd@.service",
                                 "share/doc/inboxd/README.md",
                                 "share/doc/inboxd/CHANGELOG.md",
                                 "share/doc/inboxd/config/README.md",
                                 "share/doc/inboxd/config/inboxd.yaml",
                                 "share/doc/inboxd/config/inboxd.minimal.yaml",
                                 "share/doc/inboxd/config/messages.md",
                                 "share/doc/inboxd/config/prometheus/README.md",
                                 "share/doc/inboxd/config/prometheus/alerts.yaml",
                                 "share/doc/inboxd/config/examples/receipt/receipt.cpp",
                                 "share/doc/inboxd/config/examples/receipt/CMakeLists.txt",
                                 "share/doc/inboxd/config/systemd/jit.conf",
                                 "share/doc/inboxd/config/kubernetes/deployment.yaml",
                                 "share/doc/inboxd/sql/README.md",
                                 "share/doc/inboxd/sql/roles.sql",
                                 "share/doc/inboxd/copyright",
                                 "share/doc/inboxd/sbom.cdx.json",
                                 "share/doc/inboxd/licenses/librdkafka.txt"}) {
    CAPTURE(file);
    CHECK(fs::is_regular_file(prefix / file));
  }
  for (const char* const folder : {"etc", "share/doc/inboxd/config/setup", "share/doc/inboxd/sql/migrations",
                                   "share/doc/inboxd/sql/functions", "share/doc/inboxd/sql/views"}) {
    CAPTURE(folder);
    CHECK_FALSE(fs::exists(prefix / folder));
  }
}

TEST_CASE("the installed program, handlers, unit paths and example work") {
  const TempFolder prefix;
  install_below(prefix.path());
  const std::string program = prefix / "bin/inboxd";
  CHECK_THAT(must({program, "version"}), ContainsSubstring("inboxd"));
  CHECK_THAT(must({program, "plugin", "check", "log"}), ContainsSubstring("lib/inboxd/log.so"));
  CHECK_THAT(must({program, "--config", prefix / "share/doc/inboxd/config/inboxd.minimal.yaml", "check", "--offline"}),
             ContainsSubstring("ok"));
  for (const char* const unit : {"inboxd.service", "inboxd@.service"}) {
    const std::string text = read_file(prefix / "lib/systemd/system" / unit);
    CHECK_THAT(text, ContainsSubstring("ExecStart=" + program + " run"));
    CHECK_THAT(text, ContainsSubstring("ExecReload=" + program + " check --offline"));
    CHECK_THAT(text, !ContainsSubstring("/usr/bin/inboxd"));
  }
}
