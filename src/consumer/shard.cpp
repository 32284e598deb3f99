#include "consumer/shard.hpp"

#include <algorithm>
#include <cassert>

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

constexpr auto check_interval = 15s;
constexpr auto check_retry_interval = 2s;

bool is_place_of(const inbox::ShardPlace& place, const Shard& shard) {
  return place.topic == shard.assignment.partition.topic && place.partition == shard.assignment.partition.partition;
}

}  // namespace

void Shard::change(State to) {
  assert(to == State::looking_up || (to == State::halted && state != to) ||
         (to == State::reading && state == State::looking_up) || (to == State::broken && state == State::reading));
  state = to;
}

std::vector<PositionMismatch> position_mismatches(const std::vector<Shard*>& shards,
                                                  const std::vector<inbox::ShardPlace>& places) {
  std::vector<PositionMismatch> out;
  for (Shard* const shard : shards) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const inbox::ShardPlace& other) {
      return other.shard_id == shard->position.shard_id && is_place_of(other, *shard);
    });
    if (place == places.end()) {
      out.push_back({shard, std::nullopt, true});
    } else if (place->epoch != shard->position.epoch || place->next_offset != shard->position.next_offset) {
      // A later epoch comes from an operator, at any offset.
      const bool is_older = place->epoch < shard->position.epoch;
      const bool is_behind = place->epoch == shard->position.epoch && place->next_offset < shard->position.next_offset;
      out.push_back({shard, place->next_offset, is_older || is_behind});
    }
  }
  return out;
}

bool PositionCheck::is_due(int generation, Clock::time_point now) const {
  return generation != generation_ || now >= next_at_;
}

std::vector<PositionMismatch> PositionCheck::run(inbox::Connection& connection, Shards& shards, Clock::time_point now) {
  next_at_ = now + check_retry_interval;
  generation_ = connection.generation();
  std::vector<Shard*> reading;
  std::vector<std::int32_t> ids;
  for (auto& [partition, shard] : shards) {
    if (!shard.is_read()) continue;
    reading.push_back(&shard);
    ids.push_back(shard.position.shard_id);
  }
  if (ids.empty()) return {};
  const auto places = inbox::read_positions(connection, ids);
  if (!places) return {};
  generation_ = connection.generation();
  next_at_ = now + check_interval;
  return position_mismatches(reading, *places);
}

}  // namespace inboxd::consumer
