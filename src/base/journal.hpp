#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::base {

/// A connection to journald by its native protocol: an entry is a datagram of fields, so that `journalctl EVENT_ID=…`
/// finds it. A slow journal delays an entry by at most 200 ms; later entries are dropped and counted until it keeps up.
/// Any thread.
class Journal final {
 public:
  static constexpr const char* usual_path = "/run/systemd/journal/socket";

  /// Does not connect yet: the first entry does.
  explicit Journal(std::string path = usual_path) : path_{std::move(path)} {}
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  enum class Sent { yes, lost, nobody_listens };
  Sent send(std::string_view entry);
  /// Entries dropped since the start.
  std::uint64_t lost() const { return lost_; }

 private:
  bool connect() REQUIRES(mutex_);
  void close() REQUIRES(mutex_);

  const std::string path_;
  Mutex mutex_;
  int socket_ GUARDED_BY(mutex_) = -1;
  bool is_slow_ GUARDED_BY(mutex_) = false;  ///< the last entry was lost: the next entry does not wait
  std::atomic<std::uint64_t> lost_{0};
};

/// Builds an entry. Control characters of values are escaped, long values are cut, names are made valid.
class JournalEntry final {
 public:
  void add(std::string_view name, std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace inboxd::base
