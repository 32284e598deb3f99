#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/backoff.hpp"
#include "base/mutex.hpp"
#include "formats/registry_client.hpp"

namespace inboxd::formats {

/// What a registry says of a schema: exactly one member is set.
struct SchemaAnswer {
  std::shared_ptr<const Schema> schema;
  std::string misfit;  ///< a predicate of the schema: `is unknown to the registry`
  std::string waits;   ///< nothing is known yet; a sentence that names the registry
};

/// The schemas of a registry, fetched once by a thread of its own, which starts at the first request. While the
/// registry is away it is asked again at growing intervals. Any thread.
class Registry final {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Registry(config::Registry settings);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Waits for an answer for `patience` at most, and not at all while the registry is away.
  SchemaAnswer find(const SchemaId& id, std::chrono::milliseconds patience);

 private:
  struct Entry {
    bool is_asked = false;       ///< the thread is to fetch it
    SchemaAnswer answer;
    Clock::time_point until{};   ///< of a misfit: it is asked again
    std::uint64_t used = 0;
  };
  void run();
  void take(const SchemaId& id, RegistryAnswer answer) REQUIRES(mutex_);
  void note_failure(const std::string& failure) REQUIRES(mutex_);
  bool has_budget(Clock::time_point now) REQUIRES(mutex_);
  void make_room() REQUIRES(mutex_);

  RegistryClient client_;
  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::map<SchemaId, Entry> entries_ GUARDED_BY(mutex_);
  std::deque<SchemaId> asked_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);  ///< empty: the last request was answered
  Clock::time_point retry_at_ GUARDED_BY(mutex_){};
  base::Backoff backoff_ GUARDED_BY(mutex_);
  Clock::time_point minute_ GUARDED_BY(mutex_){};
  int requests_before_ GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  bool stops_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::formats
