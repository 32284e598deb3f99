#pragma once
#include <librdkafka/rdkafka.h>

#include <inboxd/handler.hpp>
#include <memory>
#include <set>
#include <string>

#include "producer_properties.hpp"
#include "record_headers.hpp"

namespace kafka_handler {

struct DestroyClient {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using Event = std::unique_ptr<rd_kafka_event_t, DestroyClient>;

/// A record as it is written; borrowed.
struct Record {
  const std::string& topic;
  inboxd::MaybeText key;
  inboxd::MaybeText payload;
  std::int64_t time = 0;  ///< milliseconds since 1970; 0: now, by this machine's clock
};

/// An idempotent producer. Not thread-safe; `log` outlives it.
class Client final {
 public:
  /// Throws inboxd::SettingsError for a property that librdkafka refuses; its text has no values of secrets.
  Client(const Properties& properties, const inboxd::Log& log);

  /// Copies the record into the queue; its report comes with `slot`. After an error nothing was sent.
  rd_kafka_resp_err_t produce(const Record& record, RecordHeaders headers, void* slot);
  /// The next reports or error; null at the end of the limit, or after `wake`.
  Event poll(int limit_ms);
  /// Ends a poll. Any thread.
  void wake() { rd_kafka_queue_yield(queue_.get()); }
  /// Withdraws all records without a report: they get reports of failure.
  void withdraw();
  /// Whether certificates or keys have changed in their files since it was made: the library reads them only then.
  bool is_outdated() const;
  /// Reads the token's file again, if it has one.
  void renew_token();
  /// Whether any broker answers a question.
  bool is_answered(int limit_ms);

 private:
  std::set<std::string> files_;  ///< that properties name
  std::string content_;          ///< of all files, as the client was made
  std::unique_ptr<rd_kafka_t, DestroyClient> client_;
  std::unique_ptr<rd_kafka_queue_t, DestroyClient> queue_;
};

}  // namespace kafka_handler
