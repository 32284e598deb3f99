#include "integration/support/roles_fixture.hpp"

#include "support/test_environment.hpp"

namespace inboxd::support {

RolesFixture::RolesFixture(Inbox& inbox) : inbox_{inbox}, prefix_{random_name("role")} {
  apply();
  run("create role " + name("login") + " login");
}

RolesFixture::~RolesFixture() {
  for (const char* role : {"login", "owner", "ingest", "worker", "reader", "monitor", "publisher", "enqueuer"}) {
    run("drop owned by " + name(role) + "; drop role " + name(role));
  }
}

void RolesFixture::apply() { apply_roles(inbox_.database(), prefix_); }

config::Database RolesFixture::settings_of(const std::vector<std::string>& roles) {
  for (const char* role : {"ingest", "worker", "reader", "monitor", "publisher", "enqueuer"}) {
    run("revoke " + name(role) + " from " + name("login"));
  }
  for (const auto& role : roles) run("grant " + name(role) + " to " + name("login"));
  auto settings = inbox_.settings();
  settings.url = settings.url.replace(settings.url.find("postgres@"), 8, name("login"));
  return settings;
}

std::unique_ptr<inbox::Connection> RolesFixture::connect(const std::vector<std::string>& roles) {
  return inbox_.connect(settings_of(roles));
}

}  // namespace inboxd::support
