#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "inbox/outbox.hpp"
#include "kafka/producer.hpp"
#include "relay/gaps.hpp"

namespace inboxd::relay {

/// Since the start, for metrics. Any thread reads.
struct Counts {
  std::atomic<std::uint64_t> published{0};
  std::atomic<std::uint64_t> stopped{0};       ///< failed messages that stopped their lane
  std::atomic<std::uint64_t> replacements{0};  ///< of the producer, after it failed
  std::atomic<std::int64_t> in_flight{0};
  std::atomic<bool> is_owner{false};
};

/// What the producer's successor must do differently. Brokers refuse a whole batch, so the messages up to `until` are
/// sent in batches of one: only the culprit fails again.
struct Caution {
  std::int64_t until = 0;
  bool has_culprit = false;
  std::size_t batch_bytes = 0;  ///< 0: the library's default
};

/// Sends the outbox under one lease, with one producer. Any failure of either ends it: its successor begins where the
/// database says, and repeats at most the messages in flight. One thread.
class Sender final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    busy,     ///< turn again at once
    waiting,  ///< nothing to read; messages may be in flight
    lost,     ///< the lease was lost
    failed,   ///< the producer must be replaced
    safe,     ///< the messages of the caution are sent: replace the producer by a fast one
  };

  Sender(const config::Outbox& settings, inbox::RelayLease lease, std::int64_t low_water, Clock::time_point taken_at,
         inbox::Connection& connection, std::unique_ptr<kafka::Producer> producer, Caution caution, Counts& counts,
         base::Logger& log);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// One round: ends of messages, deletion, the next messages. `reads`: look for messages. Throws DatabaseError.
  State turn(bool reads);
  /// Waits for the messages in flight, at most so long, deletes them and releases the lease.
  void finish(std::chrono::milliseconds longest);

  bool has_in_flight() const { return !in_flight_.empty(); }
  bool has_room() const;
  /// Messages were refused, which explains the end of the producer.
  bool has_refused() const { return refused_in_batch_ || has_refused_; }
  /// The database has lost messages that were sent.
  bool has_missing() const { return has_missing_; }
  std::string failure() const { return producer_->failure().value_or("a message was refused"); }
  /// For the next sender, after `failed` or `safe`.
  Caution successor(State state) const;

 private:
  struct InFlight {
    std::size_t bytes = 0;
    base::Uuid message_id;
    bool is_waiting = false;  ///< of a lane that is tried again
  };

  void take_ends(std::chrono::milliseconds longest);
  void note_end(const kafka::Delivery& end);
  void note_refused(const kafka::Delivery& end);
  bool renew();
  bool set_failures_aside();
  bool delete_sent();
  bool read();
  bool read_due_lanes();
  bool send(const inbox::OutboxRows& rows, bool are_waiting);
  void send(const inbox::OutboxRow& row, bool is_waiting);
  bool is_stopped(const inbox::OutboxRow& row) const;
  std::int64_t low_water() const;

  const config::Outbox& settings_;
  const inbox::RelayLease lease_;
  inbox::Connection& connection_;
  std::unique_ptr<kafka::Producer> producer_;
  Caution caution_;
  Counts& counts_;
  base::Logger& log_;

  Clock::time_point lease_end_;
  Clock::time_point next_renewal_;
  Clock::time_point next_lanes_{};
  std::int64_t highest_;  ///< id read
  Gaps gaps_;
  std::map<std::int64_t, InFlight> in_flight_;
  std::size_t in_flight_bytes_ = 0;
  std::size_t waiting_in_flight_ = 0, sent_waiting_ = 0;
  std::vector<inbox::SentMessage> sent_;  ///< to delete
  Clock::time_point sent_since_{};
  std::vector<inbox::SetAside> aside_;                  ///< to record before the next read
  std::set<std::pair<std::string, std::string>> stopped_;  ///< topic, k and key ("": all) stopped in this batch
  bool refused_in_batch_ = false;  ///< a batch was refused, and its culprit is unknown
  bool has_refused_ = false;
  bool has_missing_ = false;
  bool has_due_lanes_ = true;  ///< until a read finds none
  bool found_some_ = false;
};

}  // namespace inboxd::relay
