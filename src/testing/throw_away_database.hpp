#pragma once
#include <string>

#include "base/result.hpp"

namespace inboxd::testing {

/// A database of a random name, dropped at the end.
class ThrowAwayDatabase final {
 public:
  /// `pattern`: the database to copy, which has no sessions; empty: an empty database.
  static base::Result<ThrowAwayDatabase> create(const std::string& server_url, const std::string& pattern = "");
  ThrowAwayDatabase(ThrowAwayDatabase&& other) noexcept;
  ThrowAwayDatabase& operator=(ThrowAwayDatabase&&) = delete;
  ~ThrowAwayDatabase();

  const std::string& name() const { return name_; }
  std::string url() const;

 private:
  ThrowAwayDatabase(std::string server_url, std::string name);

  std::string server_url_;
  std::string name_;  ///< empty: moved from
};

}  // namespace inboxd::testing
