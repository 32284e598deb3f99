#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kafka/contacts.hpp"
#include "kafka/credentials.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

struct ProducerSettings {
  std::string brokers;
  std::map<std::string, std::string> properties;  ///< the user's; consumer properties have no effect
  std::function<Credentials::Properties()> properties_now;  ///< read again when a connection fails; may be unset
  std::size_t batch_bytes = 0;                    ///< the most bytes of a batch; 0: the library's default
  bool one_by_one = false;  ///< each message is a batch, and a refused message does not end the producer: see Producer
  std::function<void(int level, std::string_view text)> log;  ///< on threads of the library
  std::function<void(std::string_view text)> on_problem;      ///< with the connections; inside `take`
};

/// A message to send. Views, borrowed until `send` returns. A null key or payload has no data.
struct OutgoingMessage {
  std::int64_t id = 0;  ///< the caller's
  std::string_view topic;
  std::optional<std::string_view> key;
  std::optional<std::string_view> payload;
  std::vector<std::pair<std::string, std::optional<std::string_view>>> headers;
  std::int64_t time = 0;  ///< milliseconds since 1970; 0: now, by this machine's clock
};

/// The end of a message's way.
struct Delivery {
  enum class End {
    sent,           ///< all in-sync replicas have it
    refused,        ///< this message will never be accepted: it is too large, for example
    topic_refused,  ///< none of its topic is accepted now: unknown, or not authorized
    failed,         ///< this producer has failed and must be replaced; others may have arrived or not
  };
  std::int64_t id = 0;
  End end = End::sent;
  std::string error;       ///< the library's name and sentence; empty: sent
  std::string_view topic;  ///< as long as the producer lives
  bool is_too_large = false;
  bool is_about_time = false;  ///< its time is too far from the brokers' clocks
};

/// An idempotent producer with acks=all that never gives a message up, so that messages of a key keep their order while
/// brokers are away. If the brokers refuse a batch, later batches of its partition are not written
/// (enable.gapless.guarantee, `may_send`), and the producer must be replaced, so that no batch overtakes the refused
/// batch. With `one_by_one` it continues after a refusal, so the caller must have at most one message of a key in
/// flight. Not thread-safe.
class Producer final {
 public:
  static base::Result<std::unique_ptr<Producer>> make(ProducerSettings settings);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Asks the brokers about topics, all at once; waits at most `longest`.
  void learn(const std::set<std::string_view>& topics, std::chrono::milliseconds longest);
  /// Of a message whose topic was learned.
  Readiness readiness(const OutgoingMessage& message);
  /// The end of a message whose topic is missing.
  Delivery refusal_of(const OutgoingMessage& message);
  /// For how long the brokers have said so.
  std::chrono::milliseconds missing_for(std::string_view topic);
  /// Queues a message, which is copied. Returns its end if it is refused at once.
  std::optional<Delivery> send(const OutgoingMessage& message);
  /// Waits for ends of messages, at most `longest`; returns the messages that have ended.
  std::vector<Delivery> take(std::chrono::milliseconds longest);
  /// Why it must be replaced.
  std::optional<std::string> failure() const;
  /// Gives up all messages: each ends as failed unless its answer has come.
  void purge();
  /// Messages without their end.
  bool has_open() const { return rd_kafka_outq_len(client_.get()) > 0; }
  /// Whether a broker answers within this time.
  bool is_answered(std::chrono::milliseconds longest);

 private:
  explicit Producer(ProducerSettings settings)
      : settings_{std::move(settings)}, credentials_{settings_.properties_now} {}
  static void on_end(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  static void on_error(rd_kafka_t*, int code, const char* text, void* self);
  Delivery end_of(std::int64_t id, rd_kafka_resp_err_t code);

  ProducerSettings settings_;
  Credentials credentials_;
  std::vector<Delivery> ends_;
  bool failed_ = false;
  bool is_outdated_ = false;
  Client client_;  // its destruction uses the members above
  std::optional<Contacts> contacts_;  ///< none with `one_by_one`
};

}  // namespace inboxd::kafka
