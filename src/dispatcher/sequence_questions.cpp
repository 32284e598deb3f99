// InFlight for a handler that keeps order, as the claimer asks it: ownership, lanes and claims. Under the lock.
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {
namespace {

/// Between two tries to take sequences.
constexpr std::chrono::milliseconds take_interval{200};
constexpr int lanes_limit = 10'000;     ///< of one reading
constexpr int rows_in_order = 64;       ///< of each sequence
constexpr int rows_of_window = 5'000;  ///< with group_by: key a row may have one event

}  // namespace

// ---- ownership

std::optional<Request> InFlight::take_sequences(Clock::time_point now) {
  if (!settings_.order || !takes() || now < next_take_ || keeper_.any_drained()) return std::nullopt;
  next_take_ = now + take_interval;
  TakeSequences out{handler_id_, 0, settings_.lease, sequences_.wanted(), sequences_.looks_for_orphans(now),
                    settings_.order->text};
  if (out.wanted.empty() && !out.orphans) return std::nullopt;
  return out;
}

void InFlight::answered(const TakeSequences& question, const std::vector<std::int32_t>& taken, const Visit& visit) {
  if (taken.empty()) return;
  sequences_.took(taken, question.fence, visit.asked + question.lease);
  if (!takes()) sequences_.drain_all();
  next_read_ = visit.came;
  after_change();
}

// ---- blocked keys

std::optional<Request> InFlight::read_lanes(Clock::time_point /*now*/) {
  const auto next = sequences_.lanes_to_read();
  if (!next) return std::nullopt;
  return ReadLanes{handler_id_, next->sequence, next->after, lanes_limit};
}

/// All lanes are read before the first claim.
void InFlight::answered(const ReadLanes& question, const std::vector<inbox::Lane>& lanes, const Visit& /*visit*/) {
  for (const inbox::Lane& lane : lanes) feed_.block(lane);
  sequences_.lanes_read(question.sequence, lanes.empty() ? std::numeric_limits<std::int64_t>::max() : lanes.back().lane,
                        lanes.size() < static_cast<std::size_t>(question.limit));
  --steps_[static_cast<std::size_t>(Class::claim)];
}

std::optional<Request> InFlight::check_lanes(Clock::time_point now) {
  auto lanes = feed_.to_check(now);
  if (lanes.empty()) return std::nullopt;
  return CheckLanes{handler_id_, std::move(lanes), sequences_.owned()};
}

void InFlight::answered(const CheckLanes& /*question*/, const CheckLanes::Result& result, const Visit& /*visit*/) {
  LeaseKeeper::lose(sequences_, result.lost);
  after_change();
  feed_.checked(result.lanes);
}

// ---- claims

std::optional<Request> InFlight::claim_in_order(Clock::time_point now) {
  if (!settings_.order || !takes() || sequences_.count() == 0 || !keeper_.holds_only_memory()) return std::nullopt;
  if (feed_.has_window()) return claim_window(now);
  const bool is_time = now >= std::min(next_read_, due_.next());
  const std::int64_t free = free_room();
  if (!is_time || free < 1) {
    wants_room_ = wants_room_ || is_time;
    return std::nullopt;
  }
  next_read_ = now + poll_;
  auto read = sequences_.to_read(now);
  // Room for ingest: a batch without room would make its sequence fall back to claims, and those of others with it.
  const bool shares_room = read.empty() || sequences_.any_caught_up();
  ClaimInOrder out = ordered_claim(shares_room ? std::max<std::int64_t>(free / 2, 1) : free);
  out.request.owned = sequences_.with_lanes();
  out.request.read = std::move(read);
  return out;
}

ClaimInOrder InFlight::ordered_claim(std::int64_t events) {
  room_.claim(events);
  count();
  ClaimInOrder out;
  out.max_crashes = settings_.max_crashes;
  inbox::ClaimRequest& claim = out.request.claim;
  claim.handler_id = handler_id_;
  claim.lease = settings_.lease;
  claim.events = events;
  claim.rows = feed_.has_window() ? rows_of_window : rows_in_order;
  claim.not_before = readings_.mark().not_before();
  claim.bytes = room_.bytes_to_claim(queue_);
  claim.payloads = settings_.reads_payloads();
  return out;
}

std::optional<WindowEnd> InFlight::end_claim_in_order(inbox::ClaimedInOrder& claimed, const std::vector<Loaded>& runs,
                                                      const Visit& visit) {
  room_.claim(0);
  keeper_.skip(claimed.claimed.empty);
  keeper_.release(claimed.claimed.excess);
  for (const Loaded& each : runs) {
    const inbox::LeasedRun& lease = each.run->lease;
    if (lease.lane) feed_.block({*lease.sequence, *lease.lane, true, false});
    add(each.run, each.bytes, visit.asked);
  }
  std::optional<WindowEnd> out;
  // Rows beyond the bytes are not in memory, whichever sequence they are of.
  const bool is_cut = !claimed.claimed.excess.empty() || !claimed.claimed.empty.empty();
  bool more = is_cut;
  for (inbox::SequenceRead& read : claimed.sequences) {
    using State = inbox::SequenceRead::State;
    if (is_cut && read.state == State::end) read.state = State::more;
    if (feed_.has_window()) {
      out = window_read(read.state, !runs.empty());
      more = more || read.state == State::ended;
    } else {
      sequences_.read(read);
    }
    more = more || read.state == State::more;
  }
  if (more) {
    next_read_ = Clock::now();
    wants_room_ = true;
  }
  if (!takes()) queue_.release(0);
  wake_claimer_to_release();
  after_change();
  return out;
}

}  // namespace inboxd::dispatcher
