#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace inboxd::base {

/// A connection to journald by its native protocol: an entry is a datagram of fields, so that `journalctl EVENT_ID=…`
/// finds it. Any thread. A journal that does not keep up costs a moment once, then lines, never the daemon's pace.
class Journal final {
 public:
  static constexpr const char* usual_path = "/run/systemd/journal/socket";

  /// Neither connects nor fails: that is done with the first entry.
  explicit Journal(std::string path = usual_path) : path_{std::move(path)} {}
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  enum class Sent { yes, lost, nobody_listens };
  Sent send(std::string_view entry);
  /// Entries that were given up since the start.
  std::uint64_t lost() const { return lost_; }

 private:
  bool connect();
  void close();

  const std::string path_;
  std::mutex mutex_;  // guards the following
  int socket_ = -1;
  bool is_slow_ = false;  ///< the last entry was lost: the next one waits for nothing
  std::atomic<std::uint64_t> lost_{0};
};

/// An entry in the making. Values are one line of text each; longer ones are cut, names are made to fit.
class JournalEntry final {
 public:
  void add(std::string_view name, std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace inboxd::base
