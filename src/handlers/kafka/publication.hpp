#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "client.hpp"
#include "producer_properties.hpp"
#include "topic_template.hpp"

namespace kafka_handler {

/// The settings.
struct Target {
  TopicTemplate topic;
  ProducerProperties properties;
  bool keeps_headers;
  bool is_decoded;  ///< `payload: decoded`
};

/// A call: a record for each event, until all have their reports. Not thread-safe.
class Publication final {
 public:
  /// A record's report goes to its slot.
  struct Slot {
    Publication* publication = nullptr;
    std::string topic;
    std::optional<inboxd::PublishSpan> span;
    std::optional<rd_kafka_resp_err_t> result;  ///< nullopt: not sent, or no report yet
    std::optional<inboxd::Outcome> outcome;     ///< of an event that was not sent
  };

  Publication(const Target& target, std::unique_ptr<inboxd::OpenCall> call);
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;

  void send(Client& client);
  void report(Slot& slot, rd_kafka_resp_err_t result);
  /// A batch was refused, and its records were not sent again each by itself.
  bool has_unclear_culprit() const;
  bool is_complete() const { return awaited_ == 0; }
  /// Sends the records of a refused batch again, each alone, and the records after them. False: there are none.
  bool send_alone(Client& client);

  /// Too little time is left to wait for reports: the records must be withdrawn.
  bool is_overdue() const { return open_->call().time_left() <= reserve_; }
  bool is_cancelled() const { return open_->call().is_cancelled(); }
  /// Whatever its records became, its events are called again.
  void give_up(const inboxd::Outcome& outcome);
  void note_overdue(inboxd::Outcome late) { late_ = std::move(late); }

  /// Sets the outcomes and ends the call.
  void finish();

 private:
  void send_one(Client& client, const inboxd::Event& event);
  void produce(Client& client, const inboxd::Event& event);
  std::int64_t time_of(const inboxd::Event& event) const;
  inboxd::Outcome for_one(inboxd::Outcome outcome) const;
  void refuse(const inboxd::Event& event, inboxd::Outcome outcome);
  std::optional<inboxd::Outcome> outcome_at(std::size_t index) const;

  const Target& target_;
  std::unique_ptr<inboxd::OpenCall> open_;
  std::chrono::milliseconds reserve_;  ///< of the call's time, for the withdrawal
  std::vector<Slot> slots_;
  std::size_t awaited_ = 0;
  bool was_sent_alone_ = false;
  std::unordered_set<std::string_view> failed_keys_;
  std::optional<inboxd::Outcome> late_;
};

}  // namespace kafka_handler
