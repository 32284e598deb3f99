#pragma once
#include "support/daemon_process.hpp"
#include "support/database.hpp"

namespace inboxd::support {

/// Ends a test with `inboxd verify --against database`: the destructor throws if verify finds a contradiction or does
/// not run. A fixture declares it after its database and its configuration. A test whose daemon never migrated the
/// schema has nothing to verify; a test that has thrown is not verified.
class FinalVerify final {
 public:
  FinalVerify(Database& database, const ConfigText& config) : database_{database}, config_{config} {}
  ~FinalVerify() noexcept(false);
  FinalVerify(const FinalVerify&) = delete;
  FinalVerify& operator=(const FinalVerify&) = delete;

  /// For a test that leaves contradictions, or no server, on purpose. The reason is for the reader.
  void skip(const char* /*reason*/) { is_skipped_ = true; }

 private:
  ConfigText readable_config() const;
  bool is_migrated() const;

  Database& database_;
  const ConfigText& config_;
  bool is_skipped_ = false;
};

}  // namespace inboxd::support
