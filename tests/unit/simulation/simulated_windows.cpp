// SimulatedDatabase: windows of a batch handler. Conditions as in sql/functions/turn_window and claim_window, without
// group_by and without postponed closes.
#include <algorithm>

#include "unit/simulation/simulated_database.hpp"

namespace inboxd::test {

using namespace dispatcher;

bool SimulatedDatabase::is_in_window(const Row& row) const {
  return row.sequence == inbox::whole_handler && !row.lane && row.ordinal <= window.last_ordinal &&
         row.received < window.closed_at && (row.due == Instant::max() || row.due <= window.closed_at);
}

inbox::WindowTurn SimulatedDatabase::turn_window(int owner, const inbox::WindowPlan& plan, Instant now) {
  using State = inbox::WindowTurn::State;
  inbox::WindowTurn out;
  out.now = microseconds(now);
  const Owned& of = sequences[inbox::whole_handler];
  if (of.owner != owner || of.fence != plan.fence) {
    out.state = State::lost;
    return out;
  }
  out.decided_until = microseconds(std::min(window.decided_until, now));
  out.state = window.is_running ? State::running : State::open;
  out.events = window.is_running ? window.events : 0;
  const auto close = plan.latest ? std::optional{Instant{std::chrono::microseconds{*plan.latest}}} : std::nullopt;
  if (window.is_running || !close || *close <= window.decided_until || *close > now) return out;
  window.decided_until = window.closed_at = *close;
  window.last_ordinal = next_id;
  window.events = 0;
  for (const auto& [id, row] : rows) {
    if (is_in_window(row)) window.events += static_cast<std::int64_t>(row.pending.size());
  }
  window.is_running = window.events > 0;
  out.state = window.is_running ? State::closed : State::empty;
  out.decided_until = microseconds(*close);
  out.events = window.events;
  return out;
}

inbox::ClaimedInOrder SimulatedDatabase::claim_window(int owner, const inbox::ClaimInOrderRequest& it) {
  using State = inbox::SequenceRead::State;
  inbox::ClaimedInOrder out;
  const Owned& of = sequences[inbox::whole_handler];
  State state = State::end;
  if (of.owner != owner || (of.fence != it.window->fence && guards.compares_fences)) {
    state = State::lost;
  } else if (!window.is_running) {
    state = State::ended;
  } else {
    std::vector<std::int64_t> found;
    std::int64_t left = it.claim.events;
    int claims = 0;  // of the suspect
    std::int64_t events = 0;
    for (const auto id : in_order(inbox::whole_handler, std::nullopt)) {
      const Row& row = rows[id];
      if (row.owner != 0 || !is_in_window(row)) continue;
      state = State::more;
      if (found.empty() && row.claims >= inbox::suspected_after) {
        claims = row.claims;
        left = it.window->call_events;
      }
      const bool is_worse = row.claims >= inbox::suspected_after && row.claims > claims;
      if (is_worse || (claims >= it.window->max_crashes && row.claims < claims)) break;
      found.push_back(id);
      events += static_cast<std::int64_t>(row.pending.size());
      if (events >= left) break;
    }
    if (claims >= it.window->max_crashes) left = std::max<std::int64_t>(std::min(events, left) / 2, 1);
    for (const auto id : found) {
      if (left <= 0) break;
      const auto share = std::min(static_cast<std::int64_t>(rows[id].pending.size()), left);
      out.claimed.runs.push_back(lease(id, owner, it.claim.fence, share, Instant::max()));
      out.claimed.runs.back().claims = std::max(out.claimed.runs.back().claims, claims + (claims > 0 ? 1 : 0));
      left -= share;
    }
    const bool any_left =
        std::any_of(rows.begin(), rows.end(), [&](const auto& each) { return is_in_window(each.second); });
    if (state == State::end && !any_left) {
      state = State::ended;
      window.is_running = false;
    }
  }
  out.sequences.push_back({inbox::whole_handler, state, 0, -1});
  return out;
}

}  // namespace inboxd::test
