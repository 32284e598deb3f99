// sql/roles.sql from the first migration on, as somebody would who separates roles.
#include <catch2/catch_test_macros.hpp>

#include "process/support/stage.hpp"
#include "support/environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The roles of one schema, and a login for migrations and one for the daemon; dropped at the end.
class Separated final {
 public:
  explicit Separated(Stage& stage) : stage_{stage} {
    apply();
    stage_.database.run("create role " + name("migrator") + " login; grant " + name("owner") + " to " +
                        name("migrator") + "; alter role " + name("migrator") + " set role = '" + name("owner") + "'");
    stage_.database.run("create role " + name("daemon") + " login; grant " + name("ingest") + ", " + name("worker") +
                        " to " + name("daemon"));
  }
  ~Separated() {
    for (const char* const role : {"migrator", "daemon", "owner", "ingest", "worker", "reader"}) {
      stage_.database.run("drop owned by " + name(role) + " cascade; drop role " + name(role));
    }
  }
  Separated(const Separated&) = delete;
  Separated& operator=(const Separated&) = delete;

  std::string name(const std::string& role) const { return prefix_ + "_" + role; }
  std::string url_of(const std::string& role) const {
    std::string url = stage_.database.url();
    return url.replace(url.find("postgres@"), 8, name(role));
  }
  void apply() { apply_roles(stage_.database, prefix_); }

 private:
  Stage& stage_;
  const std::string prefix_ = random_name("role");
};

}  // namespace

TEST_CASE("an owner without rights on the database migrates and owns all that is made; the daemon works without it") {
  Stage stage{1};
  Separated roles{stage};
  stage.config.url = roles.url_of("migrator");
  const auto migrated = command(stage.config, {"migrate"});
  INFO(migrated.err);
  CHECK(migrated.status == ExitStatus{0, 0});
  CHECK(stage.database.text("select string_agg(distinct pg_get_userbyid(relowner), ' ') from pg_class "
                            "where relnamespace = $1::regnamespace",
                            {stage.database.schema()}) == roles.name("owner"));
  CHECK(stage.database.text("select string_agg(distinct pg_get_userbyid(proowner), ' ') from pg_proc "
                            "where pronamespace = $1::regnamespace",
                            {stage.database.schema()}) == roles.name("owner"));
  roles.apply();
  stage.config.url = roles.url_of("daemon");
  CHECK(command(stage.config, {"check"}).status == ExitStatus{0, 0});
  Daemon daemon{stage.config, {"run"}};
  daemon.wait_ready();
  stage.produce(100);
  CHECK(stage.wait_done().is_perfect());
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
