#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/settler/runs.hpp"

/// Runs of a sequence for tests without a database.
namespace inboxd::test {

constexpr std::int32_t sequence_of_runs = 3;

struct KeyedRun {
  std::vector<std::int64_t> offsets;
  std::vector<envelope::KeyHash> keys;  ///< one for each offset
  std::int64_t delivery_id = 1;
  std::optional<std::int64_t> lane{};
  std::int32_t attempts = 0;
  config::OnFailure on_failure = config::OnFailure::block;
  int max_attempts = 5;
  std::optional<std::int64_t> ordinal{};  ///< nullopt: the delivery's id
};

inline std::shared_ptr<settler::Run> run_in_order(const KeyedRun& from) {
  auto lease = lease_of(from.offsets, from.delivery_id, from.attempts);
  lease.sequence = sequence_of_runs;
  lease.ordinal = from.ordinal.value_or(from.delivery_id);
  lease.lane = from.lane;
  config::Retry retry;
  retry.max_attempts = from.max_attempts;
  auto run = run_of(std::move(lease), retry);
  run->keys = from.keys;
  run->on_failure = from.on_failure;
  return run;
}

constexpr envelope::KeyHash key_a = 11, key_b = 22;

/// A run of events from an offset on, with the keys of its characters; `-` is none.
inline std::shared_ptr<settler::Run> run_of_keys(std::int64_t first, std::string_view names,
                                                 std::int64_t delivery_id = 1,
                                                 std::optional<std::int64_t> lane = std::nullopt) {
  KeyedRun from{offsets_from(first, names.size()), {}, delivery_id, lane};
  for (const char name : names) {
    from.keys.push_back(name == 'a' ? key_a : name == 'b' ? key_b : envelope::no_order_key);
  }
  return run_in_order(from);
}

/// A leased delivery of a sequence with events of these record keys.
inline inbox::LeasedRun lease_with_keys(std::int64_t first, const std::vector<std::string>& keys,
                                        std::int64_t delivery_id) {
  auto out = with_events(lease_of(offsets_from(first, keys.size()), delivery_id),
                         [&](event::Event& event, std::size_t i, auto& arena) { event.key = arena.copy(keys[i]); });
  out.sequence = sequence_of_runs;
  out.ordinal = delivery_id;
  return out;
}

}  // namespace inboxd::test
