#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

struct ProducerSettings {
  std::string brokers;
  std::map<std::string, std::string> properties;  ///< the user's; those of consumers have no effect
  std::size_t message_bytes = 0;                  ///< of the largest message, without the client's overhead
  std::size_t batch_bytes = 0;                    ///< the most bytes of a batch; 0: the library's default
  bool one_by_one = false;                        ///< each message is a batch: a refusal names the refused one
  std::function<void(int level, std::string_view text)> log;  ///< on threads of the library
};

/// A message to send. Views, borrowed until `send` returns. A null key or payload has no data.
struct OutgoingMessage {
  std::int64_t id = 0;  ///< the caller's
  std::string_view topic;
  std::optional<std::string_view> key;
  std::optional<std::string_view> payload;
  std::vector<std::pair<std::string, std::optional<std::string_view>>> headers;
};

/// The end of a message's way.
struct Delivery {
  enum class End {
    sent,           ///< all in-sync replicas have it
    refused,        ///< this message will never be accepted, such as a too large one
    topic_refused,  ///< none of its topic is accepted now: unknown, or not authorized
    failed,         ///< this producer has failed and must be replaced; others may have arrived or not
  };
  std::int64_t id = 0;
  End end = End::sent;
  std::string error;  ///< the library's name and sentence; empty: sent
};

/// An idempotent producer with acks=all that never gives a message up, so that messages of a key keep their order while
/// brokers are away. If the brokers refuse a message, later ones of its partition are not sent (one request at a time,
/// enable.gapless.guarantee), and the producer must be replaced: none overtakes it. One thread.
class Producer final {
 public:
  static base::Result<std::unique_ptr<Producer>> make(ProducerSettings settings);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  /// Queues a message, which is copied. Returns its end if it is refused at once.
  std::optional<Delivery> send(const OutgoingMessage& message);
  /// Waits for ends of messages, at most so long; returns those that have come.
  std::vector<Delivery> take(std::chrono::milliseconds longest);
  /// Why it must be replaced.
  std::optional<std::string> failure() const;
  /// Drops the messages that were not sent yet.
  void purge();

 private:
  explicit Producer(ProducerSettings settings) : settings_{std::move(settings)} {}
  static void on_end(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  Delivery end_of(std::int64_t id, rd_kafka_resp_err_t code);

  ProducerSettings settings_;
  std::vector<Delivery> ends_;
  bool failed_ = false;
  Client client_;  // last: its destruction uses the others
};

}  // namespace inboxd::kafka
