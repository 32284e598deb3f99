#pragma once
#include <inboxd/handler.hpp>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../shared/call_queue.hpp"
#include "../shared/away_notice.hpp"
#include "client.hpp"
#include "publication.hpp"

namespace kafka_handler {

/// A thread that sends the records of all calls and takes their reports.
class Sender final {
 public:
  /// Throws as Client.
  Sender(const Target& target, inboxd::Log log);
  /// No call may be open.
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Takes on a call. Any thread.
  void send(std::unique_ptr<inboxd::OpenCall> call);

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  bool take_on();
  void poll(std::unique_ptr<Client>& client, int limit_ms);
  void take(rd_kafka_event_t& event);
  void end_complete();
  void withdraw_overdue();
  inboxd::Outcome late_outcome();
  void renew();
  void replace_broken();
  std::unique_ptr<Client> made(const Properties& properties);

  const Target& target_;
  const inboxd::Log log_;
  Properties single_properties_;

  handlers::CallQueue new_calls_;

  // The thread's own.
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> single_;  ///< sends each record as a batch of its own; null until a batch was too large
  std::unordered_map<Publication*, std::unique_ptr<Publication>> open_;
  std::vector<Publication*> reported_;  ///< with new reports
  std::string last_error_;              ///< of the brokers
  bool is_broken_ = false;              ///< the clients must be replaced
  bool is_answered_ = false;            ///< the last question to the brokers
  Clock::time_point next_question_{};
  Clock::time_point away_until_{};  ///< the brokers were away a moment ago
  handlers::AwayNotice away_;
  Clock::time_point next_look_{};
  Clock::time_point next_renewal_{}, last_renewal_{};

  std::thread thread_;
};

}  // namespace kafka_handler
