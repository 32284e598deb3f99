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

/// A new topic, deleted at the end. Its records come from the Generator; the key is the id's text. Throws
/// std::runtime_error.
class Topic final {
 public:
  /// `kept_bytes`: approximate retention per partition; 0: unlimited.
  Topic(const std::string& brokers, int partitions, std::int64_t kept_bytes = 0);
  ~Topic();
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;

  const std::string& name() const { return name_; }
  int partitions() const { return partitions_; }

  /// Produces `events` records, numbered from `first`, round robin over the partitions; returns after the broker has
  /// acknowledged all.
  void preload(const Generator& generator, std::int64_t first, std::int64_t events);

  /// As preload, from number 0 on, with payloads of another kind.
  void preload_made(const Generator& ids, std::int64_t events, const std::function<std::string(std::int64_t)>& make);

  /// The keys of records whose id is in the header `id`: `count` keys from number `first` on, of which the first has
  /// that share of all records. The others are drawn, or come in turn.
  struct Keys {
    std::int64_t count = 0;
    double hot_share = 0;
    std::int64_t first = 0;
    bool in_turn = false;
  };
  /// As preload, with such keys; all records of a key are in the same partition.
  void preload_keyed(const Generator& generator, std::int64_t events, Keys keys);

  /// A record for each of `keys` keys, from number 0 on.
  void preload_once(const Generator& generator, std::int64_t keys);

  /// Produces at a steady rate until `events` are sent or `stop` is set. The payload begins with the time of sending.
  /// Returns the number of sent records.
  std::int64_t produce_steadily(const Generator& generator, double per_second, std::int64_t events,
                                const std::atomic<bool>& stop);

 private:
  void send(int partition, const std::string& key, const std::string& payload, const std::string& id = {});
  void flush();

  std::string name_;
  int partitions_;
  rd_kafka_s* producer_;
};

/// Microseconds since `produce_steadily` sent this payload; nothing for other payloads.
std::optional<std::uint32_t> microseconds_since_sending(std::string_view payload);

/// Consumes the topic from its beginning without inboxd, in the calling thread. `visit` and `idle` return false to
/// stop.
void consume_plainly(const std::string& brokers, const std::string& topic, int partitions,
                     const std::function<bool(std::string_view payload)>& visit, const std::function<bool()>& idle);

}  // namespace inboxd::bench
