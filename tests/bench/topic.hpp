#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "generator.hpp"

struct rd_kafka_s;

namespace inboxd::bench {

/// A new topic on the broker, deleted when this goes. Its records are the generator's: the key is the id's
/// text. Throws std::runtime_error.
class Topic final {
 public:
  /// `kept_bytes`: about what the broker keeps of each partition; 0: all.
  Topic(const std::string& brokers, int partitions, std::int64_t kept_bytes = 0);
  ~Topic();
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;

  const std::string& name() const { return name_; }
  int partitions() const { return partitions_; }

  /// Produces `events` records, numbered from `first` on, in turn to each partition, and waits for the broker's word.
  void preload(const Generator& generator, std::int64_t first, std::int64_t events);

  /// Produces at a steady rate until `events` were sent or `stop` is set; the payload begins with the time of sending.
  /// Returns how many were sent.
  std::int64_t trickle(const Generator& generator, double per_second, std::int64_t events,
                       const std::atomic<bool>& stop);

 private:
  void send(int partition, const std::string& key, const std::string& payload);
  void flush();

  std::string name_;
  int partitions_;
  rd_kafka_s* producer_;
};

/// How long ago a record was sent whose payload `trickle` made, in microseconds; nothing where it is none of those.
std::optional<std::uint32_t> microseconds_since_sending(std::string_view payload);

/// Asks the topic's records from the beginning on, in a thread of its own choice, without inboxd. Returns when `visit`
/// returns false.
void consume_plainly(const std::string& brokers, const std::string& topic, int partitions,
                     const std::function<bool(std::string_view payload)>& visit, const std::function<bool()>& idle);

}  // namespace inboxd::bench
