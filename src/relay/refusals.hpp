#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::relay {

/// The conclusions from refusals: the size of batches, and the messages that are better tried alone. They outlive the
/// producers. Pure; not thread-safe.
class Refusals final {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t library_batch_bytes = 1'000'000;
  static constexpr std::size_t min_batch_bytes = 16 << 10;
  static constexpr std::size_t max_batches = 16, max_topics = 1'000;
  static constexpr std::chrono::seconds too_large_for{60};
  /// A topic that accepts small batches only may be gone, or mended.
  static constexpr std::chrono::hours smaller_for{1};

  /// The brokers refused a batch of several messages. Each is tried alone.
  void note_batch(std::set<std::int64_t> messages, std::size_t bytes);
  void note_sent(std::int64_t message);
  void note_refused(std::int64_t message);
  /// A single message was too large by itself.
  void note_too_large(const std::string& topic, std::size_t bytes, Clock::time_point now);

  /// A message of the topic that was too large lately was no larger. Large messages come in groups, and each refusal
  /// replaces the producer.
  bool is_suspect(std::string_view topic, std::size_t bytes, Clock::time_point now) const;
  /// If each message of a refused batch was accepted alone, its topic accepts smaller batches only. True: batch_bytes
  /// has become smaller.
  bool make_smaller(Clock::time_point now);
  /// The most in a batch; 0: the library's default.
  std::size_t batch_bytes(Clock::time_point now) const { return now < smaller_until_ ? batch_bytes_ : 0; }

 private:
  struct Batch {
    std::set<std::int64_t> suspects;  ///< not accepted yet
    std::size_t bytes = 0;
  };
  struct TooLarge {
    std::size_t bytes = 0;  ///< of the smallest message
    Clock::time_point until;
  };

  std::vector<Batch> batches_;  ///< refused batches, until a message of the batch is refused alone, too
  std::map<std::string, TooLarge, std::less<>> too_large_;  ///< by topic
  std::size_t batch_bytes_ = 0;
  Clock::time_point smaller_until_{};
};

}  // namespace inboxd::relay
