#include "queue/lease_keeper.hpp"

#include <algorithm>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// Leases are looked at this often during their time, and renewed once a third of it is used.
constexpr int looks_in_a_lease = 8;
/// Sequences are renewed this often during their lease.
constexpr int renewals_in_a_lease = 6;
/// Between two looks whether sequences are still owned: events in memory run on after a replay for this long.
constexpr std::chrono::milliseconds look_interval{500};
/// The most leases of a renewal or release.
constexpr std::size_t max_keys = 500;
/// Lost claims remembered; the rows of any further lost claims count as crashed.
constexpr std::size_t max_lost_claims = 100;
/// By which the database's clock may drift during a lost claim.
constexpr std::chrono::milliseconds clocks_apart{1'000};

std::vector<inbox::LeaseKey> keys_of(const std::vector<std::shared_ptr<settler::Run>>& runs) {
  std::vector<inbox::LeaseKey> keys;
  keys.reserve(runs.size());
  for (const auto& run : runs) keys.push_back(run->lease.key);
  return keys;
}

}  // namespace

std::optional<Request> LeaseKeeper::next(const Leases& leases, Clock::time_point now) {
  return steps_.next([&] { return renew(leases, now); },                //
                     [&] { return release_leases(leases); },            //
                     [&] { return release_claims(leases, now); },       //
                     [&] { return settle_skipped(); },                  //
                     [&] { return renew_sequences(leases, now); },      //
                     [&] { return find_lost_sequences(leases, now); },  //
                     [&] { return release_sequences(leases); });
}

LeaseKeeper::Clock::time_point LeaseKeeper::next_due(const Leases& leases) const {
  const bool is_pending = !to_release_.empty() || !to_skip_.empty() || !lost_claims_.empty() || !drained_.empty();
  return is_pending ? Clock::time_point{} : next_renewal(leases);
}

LeaseKeeper::Clock::time_point LeaseKeeper::next_renewal(const Leases& leases) const {
  return last_renewal_ + leases.length / looks_in_a_lease;
}

void LeaseKeeper::failed(const Request& question, const inbox::DatabaseFailure& failure) {
  if (is_disconnected(failure)) steps_.restart();
  if (std::holds_alternative<RenewLeases>(question)) {
    to_renew_.clear();
    last_renewal_ = {};
  }
  if (std::holds_alternative<RenewSequences>(question)) last_sequence_renewal_ = {};
}

// ---- leases of runs

std::optional<Request> LeaseKeeper::renew(const Leases& leases, Clock::time_point now) {
  if (to_renew_.empty()) {
    if (now < next_renewal(leases)) return std::nullopt;
    last_renewal_ = now;
    const Runs due = leases.queue.leases_ending_before(now + leases.length * 2 / 3);
    for (std::size_t at = 0; at < due.size(); at += max_keys) {
      const auto begin = due.begin() + static_cast<std::ptrdiff_t>(at);
      to_renew_.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(due.size() - at, max_keys)));
    }
  }
  if (to_renew_.empty()) return std::nullopt;
  return RenewLeases{keys_of(to_renew_.back()), leases.length};
}

/// If some were not renewed (settled meanwhile, locked or lost), finds them by halving.
void LeaseKeeper::answered(const Leases& leases, const RenewLeases& question, std::int64_t renewed,
                           const Visit& visit) {
  const Runs runs = std::move(to_renew_.back());
  to_renew_.pop_back();
  if (renewed == static_cast<std::int64_t>(runs.size())) {
    for (const auto& run : runs) leases.queue.renewed(*run, visit.asked + question.lease);
  } else if (renewed > 0) {
    const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
    to_renew_.emplace_back(middle, runs.end());
    to_renew_.emplace_back(runs.begin(), middle);
  }
  if (!to_renew_.empty()) steps_.restart();
}

std::optional<Request> LeaseKeeper::release_leases(const Leases& leases) {
  release(leases.queue.take_released());
  if (to_release_.empty()) return std::nullopt;
  const std::size_t count = std::min(to_release_.size(), max_keys);
  return ReleaseLeases{{to_release_.end() - static_cast<std::ptrdiff_t>(count), to_release_.end()}};
}

/// Repeating a release after a failure is harmless: a key works once.
void LeaseKeeper::answered(const Leases& /*leases*/, const ReleaseLeases& question, std::monostate /*result*/,
                           const Visit& /*visit*/) {
  to_release_.resize(to_release_.size() - question.keys.size());
  if (!to_release_.empty()) steps_.repeat();
}

std::optional<Request> LeaseKeeper::release_claims(const Leases& leases, Clock::time_point now) {
  if (lost_claims_.empty()) return std::nullopt;
  return ReleaseClaims{leases.handler_id, lost_claims_,
                       std::chrono::ceil<std::chrono::milliseconds>(now - first_lost_ + clocks_apart)};
}

void LeaseKeeper::lost_claim(std::int64_t fence, Clock::time_point asked) {
  if (lost_claims_.size() >= max_lost_claims) return;
  if (lost_claims_.empty()) first_lost_ = asked;
  lost_claims_.push_back(fence);
}

std::optional<Request> LeaseKeeper::settle_skipped() {
  if (to_skip_.empty()) return std::nullopt;
  return SettleSkipped{to_skip_};
}

// ---- sequences

std::optional<Request> LeaseKeeper::renew_sequences(const Leases& leases, Clock::time_point now) {
  if (now < last_sequence_renewal_ + leases.length / renewals_in_a_lease) return std::nullopt;
  last_sequence_renewal_ = now;
  auto owned = leases.sequences.owned();
  if (owned.empty()) return std::nullopt;
  return RenewSequences{leases.handler_id, std::move(owned), leases.length};
}

void LeaseKeeper::answered(const Leases& leases, const RenewSequences& question,
                           const std::vector<inbox::RenewedSequence>& renewed, const Visit& visit) {
  leases.sequences.renewed(question.keys, renewed, visit.asked + question.lease);
  for (const inbox::RenewedSequence& each : renewed) {
    leases.queue.sequence_renewed(each.sequence, leases.sequences.lease_end(each.sequence));
  }
}

std::optional<Request> LeaseKeeper::find_lost_sequences(const Leases& leases, Clock::time_point now) {
  // Without events in memory a lost sequence does no harm: its claims and its next renewal tell, too.
  if (now < next_look_ || leases.queue.events() == 0) return std::nullopt;
  next_look_ = now + look_interval;
  auto owned = leases.sequences.owned();
  if (owned.empty()) return std::nullopt;
  return FindLostSequences{leases.handler_id, std::move(owned)};
}

void LeaseKeeper::lose(Sequences& sequences, const std::vector<inbox::SequenceKey>& lost) {
  for (const inbox::SequenceKey& key : lost) {
    if (sequences.fence(key.sequence) == key.fence) sequences.drain(key.sequence);
  }
}

/// The leases of the deliveries end before the leases of their sequences.
std::optional<Request> LeaseKeeper::release_sequences(const Leases& leases) {
  if (to_release_.empty() && leases.queue.released_runs() == 0) {
    for (const inbox::SequenceKey& key : leases.sequences.take_drained()) drained_.push_back(key);
  }
  if (drained_.empty()) return std::nullopt;
  return ReleaseSequences{leases.handler_id, drained_};
}

}  // namespace inboxd::dispatcher
