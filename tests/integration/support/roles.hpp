#pragma once
#include <memory>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// The roles of sql/roles.sql for one inbox, and a login that has some of them; dropped at the end.
class Roles final {
 public:
  explicit Roles(Inbox& inbox);
  ~Roles();
  Roles(const Roles&) = delete;
  Roles& operator=(const Roles&) = delete;

  /// Runs sql/roles.sql, as after each migration.
  void apply();
  /// How the login connects, as a member of these only.
  config::Database settings_of(const std::vector<std::string>& roles);
  std::unique_ptr<inbox::Connection> connect(const std::vector<std::string>& roles);

  std::string name(const std::string& role) const { return prefix_ + "_" + role; }

 private:
  void run(const std::string& sql) { inbox_.database().run(sql); }

  Inbox& inbox_;
  std::string prefix_;
};

}  // namespace inboxd::support
