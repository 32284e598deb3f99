#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "inbox/handlers.hpp"

namespace inboxd::inbox {

/// Whether the database knows of all those versions still, or of later ones.
bool knows(const HandlerVersions& database, const HandlerVersions& versions);

/// What this process knows of handlers, should the database forget it: as what it has registered its own, and the
/// newest version of each that it has seen, whoever registered it. Any thread.
class Registrations final {
 public:
  std::vector<Registered> get() const;
  HandlerVersions versions() const;  ///< of these
  void set(std::vector<Registered> registered);
  /// Not where they are others than expected by now.
  void replace(const std::vector<Registered>& expected, std::vector<Registered> by);

  /// Another one whenever any of this has become more: whoever judged by the one before has to judge again.
  std::uint64_t revision() const;
  HandlerVersions newest() const;
  /// That the database says these.
  void note(const HandlerVersions& versions);
  /// That it says these, and nobody knows better.
  void accept(const HandlerVersions& versions);

 private:
  mutable std::mutex mutex_;  // guards the following
  std::vector<Registered> registered_;
  HandlerVersions newest_;
  std::uint64_t revision_ = 1;
};

}  // namespace inboxd::inbox
