#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/logger.hpp"
#include "base/repeats.hpp"
#include "config/settings.hpp"
#include "inbox/outbox.hpp"
#include "kafka/producer.hpp"
#include "relay/allowed_topics.hpp"
#include "inbox/gaps.hpp"
#include "relay/refusals.hpp"
#include "relay/stream.hpp"
#include "relay/trial.hpp"

namespace inboxd::relay {

/// Since the start, for metrics. Any thread reads.
struct Counts {
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint64_t> stopped{0};       ///< failed messages that stopped their lane
  std::atomic<std::uint64_t> replacements{0};  ///< of the producer, after it failed
  std::atomic<std::int64_t> in_flight{0};
  std::atomic<bool> is_owner{false};
};

/// Sends the outbox under a lease: the first messages of stopped lanes, and the messages of refused batches, by the
/// trial, all others by the stream. Any failure of the stream or the lease ends the sender: its successor begins where
/// the database says, and repeats at most the messages in flight. Not thread-safe.
class Sender final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    busy,     ///< turn again at once
    waiting,  ///< nothing to read; messages may be in flight
    lost,     ///< the lease was lost, or the database has lost commits
    failed,   ///< the main producer must be replaced
    resized,  ///< as failed, because it needs smaller batches
  };

  Sender(const config::Outbox& settings, inbox::RelayLease lease, std::int64_t low_water, Clock::time_point taken_at,
         inbox::Connection& connection, std::unique_ptr<kafka::Producer> producer, Trial::Make make_trial,
         Refusals& refusals, Counts& counts, base::Repeats& repeats, base::Logger& log);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// A round: ends of messages, deletion, the next messages. `reads`: look for messages. Throws DatabaseError.
  State turn(bool reads);
  /// Waits for the messages in flight, at most `longest`, deletes them and releases the lease.
  void finish(std::chrono::milliseconds longest);

  bool has_in_flight() const { return in_flight() > 0; }
  bool has_room() const;
  /// Messages were refused, which explains the end of the producer.
  bool has_refused() const { return has_refused_; }
  std::string failure() const { return stream_.producer->failure().value_or("a message was refused"); }
  bool has_lost_commits() const { return has_lost_commits_; }
  /// A message of a lane may follow at once.
  bool has_due_lanes() const { return next_lanes_ == Clock::time_point{}; }

 private:
  std::size_t in_flight() const { return stream_.flight.size() + trial_.flight.size(); }
  void take_ends(std::chrono::milliseconds longest);
  void note_end(const kafka::Delivery& end, Flight& of);
  void note_sent(std::int64_t id, const InFlight& message);
  void note_refused(std::int64_t id, inbox::SetAside::Why why, std::string_view topic, const std::string& error);
  void log_refused_topics();
  void note_refused_alone(const kafka::Delivery& end, Flight& of);
  void judge_refused_batch();
  void note_stalled();
  void forget(std::int64_t id);
  void forget(const InFlight& message);
  void drain();
  void drop_trial();
  bool renew();
  bool set_failures_aside();
  bool delete_sent();
  bool is_due_to_delete() const;
  void note_lost_commits();
  bool read();
  std::optional<bool> send_old_gaps(inbox::OutboxBite bite);
  bool read_due_lanes();
  std::optional<int> send(const inbox::OutboxRows& rows);
  bool send(const inbox::OutboxRow& row);
  void learn_topics(const inbox::OutboxRows& rows);
  void refuse_topic(const inbox::OutboxRow& row, const kafka::OutgoingMessage& message);
  void stop_key(const inbox::OutboxRow& row);
  bool is_stopped(const inbox::OutboxRow& row) const;
  std::optional<std::int64_t> lowest_in_flight() const;
  std::int64_t frontier() const;
  std::int64_t low_water() const;

  const config::Outbox& settings_;
  const inbox::RelayLease lease_;
  inbox::Connection& connection_;
  AllowedTopics allowed_;
  Stream stream_;
  Trial trial_;
  Refusals& refusals_;
  Counts& counts_;
  base::Repeats& repeats_;
  base::Logger& log_;

  Clock::time_point lease_end_;
  Clock::time_point next_renewal_;
  Clock::time_point next_check_;   ///< for messages below the low-water mark
  Clock::time_point next_read_{};  ///< a message could not be sent yet
  Clock::time_point next_lanes_{};
  std::int64_t highest_;  ///< id read
  inbox::Gaps gaps_;
  std::size_t in_flight_bytes_ = 0;
  std::map<std::int64_t, int> lanes_;     ///< messages in flight or to delete of each lane
  std::vector<inbox::SentMessage> sent_;  ///< to delete
  Clock::time_point sent_since_{};
  std::vector<inbox::SetAside> aside_;                     ///< to record before the next read
  std::set<std::pair<std::string, std::string>> stopped_;  ///< topic, k and key ("": all) stopped in this batch
  std::set<std::string> refused_topics_;  ///< since the last line in the log
  std::string refused_error_;
  std::int64_t refused_id_ = 0;
  bool has_refused_ = false;
  bool has_lost_commits_ = false;
  bool found_some_ = false;
  bool is_caught_up_ = false;  ///< a read has found nothing since the start
};

}  // namespace inboxd::relay
