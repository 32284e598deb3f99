// Separate roles by sql/roles.sql from the first migration on.
#include <catch2/catch_test_macros.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A login for migrations and a login for the daemon, with the roles of a schema.
class SeparateRoles final {
 public:
  explicit SeparateRoles(DaemonFixture& fixture) : fixture_{fixture} {
    apply();
    fixture_.database.run("create role " + name("migrator") + " login; grant " + name("owner") + " to " +
                          name("migrator") + "; alter role " + name("migrator") + " set role = '" + name("owner") +
                          "'");
    fixture_.database.run("create role " + name("daemon") + " login; grant " + name("ingest") + ", " + name("worker") +
                          " to " + name("daemon"));
  }
  ~SeparateRoles() {
    for (const char* const role :
         {"migrator", "daemon", "owner", "ingest", "worker", "reader", "publisher", "enqueuer"}) {
      fixture_.database.run("drop owned by " + name(role) + " cascade; drop role " + name(role));
    }
  }
  SeparateRoles(const SeparateRoles&) = delete;
  SeparateRoles& operator=(const SeparateRoles&) = delete;

  std::string name(const std::string& role) const { return prefix_ + "_" + role; }
  std::string url_of(const std::string& role) const {
    std::string url = fixture_.database.url();
    return url.replace(url.find("postgres@"), 8, name(role));
  }
  void apply() { apply_roles(fixture_.database, prefix_); }

 private:
  DaemonFixture& fixture_;
  const std::string prefix_ = random_name("role");
};

}  // namespace

TEST_CASE(
    "an owner without rights on the database migrates and owns every object; the daemon works without these rights") {
  DaemonFixture fixture{1};
  SeparateRoles roles{fixture};
  fixture.config.url = roles.url_of("migrator");
  const auto migrated = command(fixture.config, {"migrate"});
  INFO(migrated.err);
  CHECK(migrated.status == ExitStatus{0, 0});
  CHECK(fixture.database.text("select string_agg(distinct pg_get_userbyid(relowner), ' ') from pg_class "
                              "where relnamespace = $1::regnamespace",
                              {fixture.database.schema()}) == roles.name("owner"));
  CHECK(fixture.database.text("select string_agg(distinct pg_get_userbyid(proowner), ' ') from pg_proc "
                              "where pronamespace = $1::regnamespace",
                              {fixture.database.schema()}) == roles.name("owner"));
  roles.apply();
  fixture.config.url = roles.url_of("daemon");
  CHECK(command(fixture.config, {"check"}).status == ExitStatus{0, 0});
  DaemonProcess daemon{fixture.config, {"run"}};
  daemon.wait_ready();
  fixture.produce(100);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
