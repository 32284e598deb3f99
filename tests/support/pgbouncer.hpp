#pragma once
#include <memory>
#include <string>

#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// PgBouncer in transaction mode before the PostgreSQL at `url`. `line`: an extra line of its configuration.
class PgBouncer final {
 public:
  explicit PgBouncer(const std::string& url, const std::string& line = "");

  const std::string& url() const { return url_; }

 private:
  TempFolder folder_;
  std::string url_;
  std::unique_ptr<Process> process_;
};

}  // namespace inboxd::support
