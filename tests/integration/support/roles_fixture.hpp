#pragma once
#include <memory>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// The roles of sql/roles.sql for an inbox, and a login with some of them; dropped at the end.
class RolesFixture final {
 public:
  explicit RolesFixture(Inbox& inbox);
  ~RolesFixture();
  RolesFixture(const RolesFixture&) = delete;
  RolesFixture& operator=(const RolesFixture&) = delete;

  void apply();
  config::Database settings_of(const std::vector<std::string>& roles);
  std::unique_ptr<inbox::Connection> connect(const std::vector<std::string>& roles);

  std::string name(const std::string& role) const { return prefix_ + "_" + role; }

 private:
  void run(const std::string& sql) { inbox_.database().run(sql); }

  Inbox& inbox_;
  std::string prefix_;
};

}  // namespace inboxd::support
