#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "base/mutex.hpp"
#include "inbox/handler_registration.hpp"

namespace inboxd::inbox {

/// Whether the database knows all these versions, or later versions.
bool knows(const HandlerVersions& database, const HandlerVersions& versions);

/// This process's memory of handlers, in case the database loses them: its own registrations, and the newest version of
/// every handler that it has seen, including registrations of other instances. Any thread.
class Registrations final {
 public:
  std::vector<Registered> get() const;
  HandlerVersions versions() const;  ///< of these registrations
  void set(std::vector<Registered> registered, std::set<std::int32_t> retired = {});
  /// Ids of configured handlers that are retired, so that this process does not run them.
  std::set<std::int32_t> retired() const;
  /// Replaces the registrations, unless they differ from `expected` by now.
  void replace(const std::vector<Registered>& expected, std::vector<Registered> by);

  /// Changes whenever the memory grows: a judgement made under an older revision has to be repeated.
  std::uint64_t revision() const;
  HandlerVersions newest() const;
  /// The database has these versions.
  void note(const HandlerVersions& versions);
  /// The database has these versions, and no instance has restored newer versions: forgets the newer versions.
  void accept(const HandlerVersions& versions);

 private:
  mutable base::Mutex mutex_;
  std::vector<Registered> registered_ GUARDED_BY(mutex_);
  std::set<std::int32_t> retired_ GUARDED_BY(mutex_);
  HandlerVersions newest_ GUARDED_BY(mutex_);
  std::uint64_t revision_ GUARDED_BY(mutex_) = 1;
};

}  // namespace inboxd::inbox
