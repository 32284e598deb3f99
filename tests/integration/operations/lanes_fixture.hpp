#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "inbox/sequence.hpp"
#include "integration/operations/operation_runner.hpp"

namespace inboxd::support {

/// A sequential handler of a shard, whose events have keys of a single character, and the handler's owner.
class LanesFixture final {
 public:
  explicit LanesFixture(Inbox& fixture, const std::string& name = "receipt") : inbox_{fixture} {
    config::Handler settings;
    settings.name = name;
    settings.topics = {"orders"};
    settings.start = Inbox::now();
    settings.mode = config::Mode::sequential;
    inbox::register_handlers(inbox_.connection(), {settings});
    handler = static_cast<std::int32_t>(
        inbox_.database().number("select handler_id from inbox.handler where name = $1", {name}));
    shard = inbox_.add_shard("orders");
    take();
  }

  void take() {
    const auto taken = inbox::take_sequences(inbox_.connection(), inbox_.owner, handler, fence_, milliseconds{60'000},
                                             {shard}, false, "sequential/partition/block/unordered/key");
    if (taken != std::vector<std::int32_t>{shard}) throw std::runtime_error{"the sequence was not taken"};
  }

  /// Stores an event for each character, its key.
  void store(const std::string& keys) {
    Batch batch{inbox_};
    batch.at(shard, inbox_.position("orders"));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      batch.events(1, std::to_string(keys_.size() + i));
      batch.get().events[i].key = std::string_view{keys}.substr(i, 1);
    }
    batch.deliver_to(handler);
    batch.get().runs.back().sequence = shard;
    batch.store(inbox_.connection());
    keys_ += keys;
  }

  std::string event_id(std::int64_t offset) {
    return inbox_.database().text("select event_id::text from inbox.event where \"offset\" = $1 limit 1",
                                  {std::to_string(offset)});
  }

  /// As the owner does. After a replay the sequence is lost, and is taken again.
  std::vector<inbox::LeasedRun> claim() {
    inbox::ClaimInOrderRequest request;
    request.claim.handler_id = handler;
    request.claim.owner = inbox_.owner;
    request.claim.fence = base::random_fence();
    request.claim.events = 10'000;
    request.claim.rows = 1'000;
    request.owned = {{shard, fence_}};
    request.read = {{shard, -1, -1, -1}};
    auto claimed = inbox::claim_in_order(inbox_.connection(), request);
    if (claimed.sequences.at(0).state == inbox::SequenceRead::State::lost) {
      take();
      claimed = inbox::claim_in_order(inbox_.connection(), request);
    }
    return claimed.claimed.runs;
  }

  enum class End { done, retried, deferred, dead, parks };
  /// Claims once and settles. The first event of `key` ends so, its later events wait, or are parked; all others are
  /// done.
  void run(char key, End end, milliseconds delay = milliseconds{3'600'000}) {
    for (const auto& run : claim()) settle(run, key, end, delay);
  }

  /// Runs all that may run, in order; returns the offsets.
  std::string drain() {
    std::string out;
    for (auto runs = claim(); !runs.empty(); runs = claim()) {
      for (const auto& run : runs) {
        for (const auto* event : run.events) out += (out.empty() ? "" : " ") + std::to_string(event->offset);
        settle(run, 0, End::done, {});
      }
    }
    return out;
  }

  /// `HANDLER KEY STATE WAITING` of each row of the view.
  std::string lanes() {
    return inbox_.database().text(
        "select coalesce(string_agg(concat_ws(' ', handler, key_text, state, waiting), ', ' order by key_text), '') "
        "from inbox.lanes");
  }

  std::int32_t handler = 0;
  std::int32_t shard = 0;

 private:
  static std::int64_t lane_of(char key) { return 1000 + key; }
  bool is_blocked(char key) {
    return inbox_.database().number("select count(*) from inbox.delivery where lane = $1",
                                    {std::to_string(lane_of(key))}) > 0;
  }

  void settle(const inbox::LeasedRun& run, char key, End end, milliseconds delay) {
    inbox::Settlement out;
    out.key = run.key;
    out.is_of_lane = run.lane.has_value();
    out.whole = true;
    bool has_failed = false;
    std::string blocked;
    for (const char each : keys_ + key) {
      if (!run.lane && blocked.find(each) == std::string::npos && is_blocked(each)) blocked += each;
    }
    const auto wait = [&](char own_key, std::int64_t offset) {
      for (auto& lane : out.waiting) {
        if (lane.lane == lane_of(own_key)) return lane.offsets.add(offset);
      }
      out.waiting.push_back({lane_of(own_key), {}, std::string{own_key}});
      out.waiting.back().offsets.add(offset);
    };
    for (const auto* event : run.events) {
      const inbox::FailedKey failed{lane_of(key), std::string{key}};
      const char own_key = keys_.at(static_cast<std::size_t>(event->offset));
      if (blocked.find(own_key) != std::string::npos) {
        wait(own_key, event->offset);
      } else if (own_key != key || end == End::done || (has_failed && end == End::dead)) {
        out.done.add(event->offset);
      } else if (has_failed && (end == End::retried || end == End::deferred)) {
        wait(key, event->offset);
      } else if (has_failed) {
        out.dead.push_back({event->offset, event->event_id, inbox::DeadEvent::State::parked, failed});
      } else {
        has_failed = true;
        if (end == End::deferred) {
          out.retries.push_back({{}, delay, "busy: later", failed, true});
          out.retries[0].offsets.add(event->offset);
          continue;
        }
        out.failures.push_back({event->event_id, run.attempts + 1, "timeout", "no answer", milliseconds{5}});
        if (end == End::retried) {
          out.retries.push_back({{}, delay, "timeout: no answer", failed});
          out.retries[0].offsets.add(event->offset);
        } else {
          out.dead.push_back({event->offset, event->event_id,
                              end == End::parks ? inbox::DeadEvent::State::parks : inbox::DeadEvent::State::dead,
                              failed});
        }
      }
    }
    if (!inbox::settle(inbox_.connection(), inbox_.owner, {out}).empty()) throw std::runtime_error{"a lease was lost"};
  }

  Inbox& inbox_;
  const std::int64_t fence_ = base::random_fence();
  std::string keys_;
};

}  // namespace inboxd::support
