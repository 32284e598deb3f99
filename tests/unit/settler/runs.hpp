#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/logger.hpp"
#include "inbox/claim.hpp"
#include "settler/run.hpp"

/// Runs and their owner for tests without a database.
namespace inboxd::test {

/// A leased delivery of events at these offsets, with made-up ids and small payloads.
inline inbox::LeasedRun lease_of(const std::vector<std::int64_t>& offsets, std::int64_t delivery_id = 1,
                                 std::int32_t attempts = 0, std::int32_t handler_id = 7) {
  auto block = std::make_shared<inbox::EventBlock>();
  inbox::LeasedRun out;
  block->events.reserve(offsets.size());
  for (const std::int64_t offset : offsets) {
    event::Event event;
    event.shard_id = 3;
    event.offset = offset;
    event.event_id.bytes[14] = static_cast<std::uint8_t>(offset >> 8);
    event.event_id.bytes[15] = static_cast<std::uint8_t>(offset);
    event.event_type = "Made";
    event.payload = block->arena.copy("payload " + std::to_string(offset));
    block->events.push_back(event);
    out.pending.add(offset);
  }
  for (const auto& event : block->events) out.events.push_back(&event);
  out.handler_id = handler_id;
  out.shard_id = 3;
  out.key = {delivery_id, delivery_id + 1'000};
  out.attempts = attempts;
  out.place = std::make_shared<const inbox::Place>(inbox::Place{"orders", 2});
  out.block = std::move(block);
  return out;
}

/// The lease with changed events: `change` gets each one, its number and the arena of its texts.
template <class Change>
inbox::LeasedRun with_events(inbox::LeasedRun lease, Change change) {
  auto block = std::make_shared<inbox::EventBlock>();
  block->events.reserve(lease.events.size());
  for (std::size_t i = 0; i < lease.events.size(); ++i) {
    block->events.push_back(event::copy(*lease.events[i], block->arena));
    change(block->events.back(), i, block->arena);
    lease.events[i] = &block->events.back();
  }
  lease.block = std::move(block);
  return lease;
}

inline std::vector<std::int64_t> offsets_from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(first + static_cast<std::int64_t>(i));
  return out;
}

/// Records its calls.
class RecordingOwner final : public settler::RunOwner {
 public:
  void settled(const settler::Run& run, std::int64_t events) override {
    const std::lock_guard lock{mutex_};
    settled_.emplace_back(run.lease.key.delivery_id, events);
  }
  void lost(const settler::Run& run, std::int64_t /*events*/) override {
    const std::lock_guard lock{mutex_};
    lost_.push_back(run.lease.key.delivery_id);
  }
  void retry_at(std::chrono::steady_clock::time_point due) override {
    const std::lock_guard lock{mutex_};
    retries_.push_back(due);
  }

  using Settled = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Settled all_settled() const {
    const std::lock_guard lock{mutex_};
    return settled_;
  }
  std::vector<std::int64_t> all_lost() const {
    const std::lock_guard lock{mutex_};
    return lost_;
  }
  std::vector<std::chrono::steady_clock::time_point> all_retries() const {
    const std::lock_guard lock{mutex_};
    return retries_;
  }

 private:
  mutable std::mutex mutex_;
  Settled settled_;
  std::vector<std::int64_t> lost_;
  std::vector<std::chrono::steady_clock::time_point> retries_;
};

inline std::shared_ptr<settler::Run> run_of(inbox::LeasedRun lease, config::Retry retry = {},
                                            std::shared_ptr<settler::RunOwner> owner = nullptr) {
  if (!owner) owner = std::make_shared<RecordingOwner>();
  return std::make_shared<settler::Run>(std::move(lease),
                                        std::make_shared<const config::Policy>(config::Policy{std::move(retry), {}}),
                                        std::move(owner), "receipt");
}

inline std::vector<settler::Report> one(settler::Report report) {
  std::vector<settler::Report> out;
  out.push_back(std::move(report));
  return out;
}

inline settler::FailedEvent failed_at(std::size_t index, std::string error_class = "timeout",
                                      std::string message = "late") {
  return {index,
          {event::Verdict::Kind::retry, std::nullopt, std::move(error_class), std::move(message)},
          std::chrono::milliseconds{5}};
}

}  // namespace inboxd::test
