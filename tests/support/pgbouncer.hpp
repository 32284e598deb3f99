#pragma once
#include <memory>
#include <string>

#include "support/environment.hpp"
#include "support/process.hpp"

namespace inboxd::support {

/// PgBouncer in transaction mode before the PostgreSQL at `url`. `line`: one more of its configuration.
class PgBouncer final {
 public:
  explicit PgBouncer(const std::string& url, const std::string& line = "");

  /// The same database through the pooler.
  const std::string& url() const { return url_; }

 private:
  TempFolder folder_;
  std::string url_;
  std::unique_ptr<Process> process_;
};

}  // namespace inboxd::support
