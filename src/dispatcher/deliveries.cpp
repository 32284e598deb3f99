#include "dispatcher/deliveries.hpp"

#include <algorithm>

#include "inbox/connection.hpp"
#include "inbox/settle.hpp"

namespace inboxd::dispatcher {
namespace {

using inbox::ask;

class DatabaseDeliveries final : public Deliveries {
 public:
  DatabaseDeliveries(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
      : owner_{owner}, deadline_{database.deadline}, connection_{database, "dispatcher", watchdog, log} {
    connection_.prefer_indexes();
  }

  Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) override {
    inbox::ClaimRequest ours = request;
    ours.owner = owner_;
    return ask([&] { return inbox::claim(connection_, ours); });
  }

  Answer<inbox::DueReading> read_due(std::int32_t handler_id, std::optional<event::Microseconds> from,
                                     bool asks_writers) override {
    return ask([&] { return inbox::read_due(connection_, handler_id, from, asks_writers); });
  }

  Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds lease) override {
    return ask([&] { return inbox::renew(connection_, owner_, keys, lease); });
  }

  Answer<std::int64_t> release_leases(const std::vector<inbox::LeaseKey>& keys) override {
    return ask([&] { return inbox::release_leases(connection_, owner_, keys); });
  }

  Answer<std::int64_t> release_claims(std::int32_t handler_id, const std::vector<std::int64_t>& fences,
                                      std::chrono::milliseconds since) override {
    return ask([&] { return inbox::release_claims(connection_, owner_, handler_id, fences, since); });
  }

  Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) override {
    return ask([&] {
      inbox::settle_skipped(connection_, owner_, keys);
      return std::monostate{};
    });
  }

  Answer<std::vector<inbox::HandlerHold>> read_holds(const std::vector<std::int32_t>& handlers,
                                                     const std::vector<std::int32_t>& may_try,
                                                     std::chrono::milliseconds trial) override {
    return ask([&] { return inbox::read_holds(connection_, owner_, handlers, may_try, trial); });
  }

  Answer<std::monostate> write_hold(std::int32_t handler_id, const inbox::HoldNews& news) override {
    return ask([&] {
      inbox::write_hold(connection_, owner_, handler_id, news);
      return std::monostate{};
    });
  }

  Answer<inbox::Tokens> take_tokens(std::int32_t handler_id, double per_second, std::int64_t wanted) override {
    return ask([&] { return inbox::take_tokens(connection_, handler_id, per_second, wanted); });
  }

  Answer<int> share_calls(std::int32_t handler_id, const inbox::CallsRequest& request) override {
    return ask([&] { return inbox::share_calls(connection_, owner_, handler_id, request); });
  }

  Answer<std::vector<std::int32_t>> take_sequences(std::int32_t handler_id, std::int64_t fence,
                                                   std::chrono::milliseconds lease,
                                                   const std::vector<std::int32_t>& wanted, bool orphans,
                                                   const std::string& order) override {
    return ask(
        [&] { return inbox::take_sequences(connection_, owner_, handler_id, fence, lease, wanted, orphans, order); });
  }

  Answer<std::vector<inbox::RenewedSequence>> renew_sequences(std::int32_t handler_id,
                                                              const std::vector<inbox::SequenceKey>& keys,
                                                              std::chrono::milliseconds lease) override {
    return ask([&] { return inbox::renew_sequences(connection_, owner_, handler_id, keys, lease); });
  }

  Answer<std::vector<inbox::SequenceKey>> find_lost_sequences(std::int32_t handler_id,
                                                              const std::vector<inbox::SequenceKey>& keys) override {
    return ask([&] { return inbox::find_lost_sequences(connection_, owner_, handler_id, keys); });
  }

  Answer<std::monostate> release_sequences(std::int32_t handler_id,
                                           const std::vector<inbox::SequenceKey>& keys) override {
    return ask([&] {
      inbox::release_sequences(connection_, owner_, handler_id, keys);
      return std::monostate{};
    });
  }

  Answer<inbox::ClaimedInOrder> claim_in_order(const inbox::ClaimInOrderRequest& request) override {
    inbox::ClaimInOrderRequest ours = request;
    ours.claim.owner = owner_;
    return ask([&] { return inbox::claim_in_order(connection_, ours); });
  }

  Answer<inbox::WindowTurn> turn_window(std::int32_t handler_id, const inbox::WindowPlan& plan) override {
    return ask([&] { return inbox::turn_window(connection_, owner_, handler_id, plan); });
  }

  Answer<std::vector<inbox::Lane>> read_lanes(std::int32_t handler_id, std::int32_t sequence, std::int64_t after,
                                              int limit) override {
    return ask([&] { return inbox::read_lanes(connection_, handler_id, sequence, after, limit); });
  }

  Answer<std::vector<inbox::Lane>> check_lanes(std::int32_t handler_id,
                                               const std::vector<inbox::Lane>& lanes) override {
    return ask([&] { return inbox::check_lanes(connection_, handler_id, lanes); });
  }

  void limit_statements(std::optional<std::chrono::milliseconds> longest) override {
    using Clock = std::chrono::steady_clock;
    connection_.set_deadline(std::min(longest.value_or(deadline_), deadline_));
    connection_.set_end(longest ? Clock::now() + *longest : Clock::time_point::max());
  }

  int generation() const override { return connection_.generation(); }

 private:
  const base::Uuid owner_;
  const std::chrono::milliseconds deadline_;
  inbox::Connection connection_;
};

}  // namespace

std::unique_ptr<Deliveries> database_deliveries(const config::Database& database, base::Uuid owner,
                                                inbox::Watchdog& watchdog, base::Logger& log) {
  return std::make_unique<DatabaseDeliveries>(database, owner, watchdog, log);
}

// ---- low-water mark

std::optional<event::Microseconds> LowWater::reading_from(Clock::time_point now) const {
  if (!next_full_ || now >= *next_full_) return std::nullopt;
  return mark_;
}

bool LowWater::clock_stepped_back(const inbox::DueReading& reading, Clock::time_point asked) const {
  if (!last_) return false;
  const auto at_least = std::chrono::duration_cast<std::chrono::microseconds>(asked - last_->ours - step_back).count();
  return reading.now - last_->database < at_least;
}

void LowWater::observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came) {
  if (clock_stepped_back(reading, asked)) {
    *this = {};
    last_ = ClockPair{reading.now, came};
    return;
  }
  last_ = ClockPair{reading.now, came};
  if (!reading_from(asked)) {
    next_full_ = asked + std::clamp<Clock::duration>((came - asked) * full_part, full_every, full_at_least_every);
  }
  const auto behind = std::chrono::duration_cast<std::chrono::microseconds>(came - asked + margin).count();
  const event::Microseconds snapshot_at = reading.now - behind;
  const event::Microseconds earliest = reading.earliest.value_or(snapshot_at);
  if (mark_) mark_ = std::min(*mark_, earliest);  // only a full reading sees rows before the mark
  if (!noted_) {
    noted_ = Noted{snapshot_at, reading.xmax, asked};
  } else if (std::max(reading.xmin, ended_) >= noted_->xmax) {
    mark_ = std::min(noted_->now, earliest);
    noted_ = Noted{snapshot_at, reading.xmax, asked};
  }
  ended_ = reading.writers.value_or(0);
}

}  // namespace inboxd::dispatcher
