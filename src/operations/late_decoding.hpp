#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "config/topics.hpp"
#include "formats/topic_decoder.hpp"
#include "operations/operation.hpp"

namespace inboxd::operations {

/// Events are decoded when they are stored. Events of before their topic had a `value.format` have no decoded value,
/// and a handler that needs one dead-letters them, again after each replay. This decodes them before a replay.
class LateDecoding final {
 public:
  explicit LateDecoding(Context& context) : context_{context}, topics_{context.topics} {}

  /// Adds the decoded value to these dead letters and their events, where it is missing and today's configuration gives
  /// one. A value that does not fit, or whose schema cannot be had now, stays without. Throws database errors.
  void run(const std::vector<std::int64_t>& dead_letter_ids);

 private:
  void decode(const std::vector<std::int64_t>& dead_letter_ids, const std::vector<std::string>& topics);

  Context& context_;
  const config::Topics topics_;
  formats::Decoders decoders_{std::chrono::seconds{10}};
};

}  // namespace inboxd::operations
