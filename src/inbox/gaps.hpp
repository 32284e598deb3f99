#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "inbox/outbox.hpp"

namespace inboxd::inbox {

/// The ids below the highest id read that had no message: their transactions are open, or were rolled back. Each read
/// probes them, so that a message which is committed late is found. A gap ends once a read that began after all its
/// transactions finds nothing in it. Pure; not thread-safe.
class Gaps final {
 public:
  using Clock = std::chrono::steady_clock;

  /// Gaps older than this are probed rarely, or if a transaction of theirs has ended: a transaction that stays open for
  /// an hour keeps all later gaps.
  static constexpr std::chrono::milliseconds young_age{1'000};
  static constexpr int pause_factor = 10;  ///< a probe of old gaps gets at most a tenth of the time
  static constexpr std::size_t most = 2'000;

  /// Whether there are gaps that the last read has not probed.
  bool has_unprobed() const;
  /// The transactions that may fill the probed gaps are older than this transaction.
  std::int64_t before() const;
  /// The ranges to probe before messages of the last read are sent: a transaction of theirs has ended. `running`: the
  /// transactions older than `before` that run, asked after that read.
  std::vector<IdRange> note_running(std::set<std::int64_t> running);
  /// The messages of the last ranges could not all be sent: the next note_running returns them again.
  void probe_again() { running_ = {0}; }
  /// The message with this id was found.
  void take_out(std::int64_t id);

  /// The ranges for the next read; the oldest first.
  std::vector<IdRange> to_probe(Clock::time_point now);
  /// The read has ended after `took`: ids in the probed gaps, and above `after`, all in order; not `is_whole`: only the
  /// first of the ids that were found. Returns the highest id read.
  std::int64_t note_read(const std::vector<std::int64_t>& ids, std::int64_t after, bool is_whole, Clock::time_point now,
                         Clock::duration took);
  /// Transaction `id` began after all reads so far; transactions older than `oldest` have ended.
  void note_transaction(std::int64_t id, std::int64_t oldest);

  /// The lowest id of a gap; `otherwise` if there is none.
  std::int64_t lowest(std::int64_t otherwise) const { return gaps_.empty() ? otherwise : gaps_.begin()->first; }
  std::size_t size() const { return gaps_.size(); }

 private:
  struct Gap {
    std::int64_t last = 0;
    std::int64_t before = 0;  ///< its transactions are older than this transaction; 0: unknown
    bool is_over = false;     ///< its transactions have ended: the next probe is the last
    bool is_probed = false;   ///< by the read that runs
    bool is_watched = false;  ///< its transactions were among the transactions of the last note_running, or have ended
    Clock::time_point since{};
  };

  void add(std::int64_t first, std::int64_t last, Clock::time_point now);
  void merge_oldest();

  std::map<std::int64_t, Gap> gaps_;  ///< by first id
  Clock::time_point next_old_{};
  bool probes_old_ = false;
  std::set<std::int64_t> running_;
};

}  // namespace inboxd::inbox
