// SimulatedDatabase: pauses of all instances, and limits over all of them. Conditions as in sql/functions.
#include <algorithm>
#include <cmath>

#include "unit/simulation/simulated_database.hpp"

namespace inboxd::test {

using namespace dispatcher;
using std::chrono::milliseconds;

// ---- pauses: blow_fuse, close_fuse, handler_holds

void SimulatedDatabase::write_hold(int owner, const inbox::HoldNews& news) {
  const bool is_trial = pause.is_trying && pause.trial_owner == owner;
  using Kind = inbox::HoldNews::Kind;
  if (news.kind == Kind::closed) {
    if (is_trial) pause = {};
  } else if (!pause.is_paused || is_trial) {
    pause = {true, news.kind == Kind::blown, false, 0, {}};
  }
}

inbox::HandlerHold::State SimulatedDatabase::read_hold(int owner, const ReadHolds& it, Instant now) {
  using State = inbox::HandlerHold::State;
  const bool may_try = !it.may_try.empty();
  const bool is_free = pause.trial_owner == 0 || pause.trial_owner == owner || pause.trial_until <= now;
  if (may_try && pause.is_trying && is_free) {
    pause.trial_owner = owner;
    pause.trial_until = now + it.trial;
  }
  if (pause.is_trying && pause.trial_owner == owner && may_try) return State::trial;
  return pause.is_paused ? State::held : State::open;
}

void SimulatedDatabase::resume() {
  if (pause.has_blown && !pause.is_trying) {
    pause.is_trying = true;
  } else if (!pause.has_blown) {
    pause = {};
  }
}

// ---- limits: take_tokens, share_calls

inbox::Tokens SimulatedDatabase::take_tokens(const TakeTokens& it, Instant now) {
  const auto time_of = [&](double events) {
    return std::chrono::ceil<Instant::duration>(std::chrono::duration<double>{events / it.per_second});
  };
  const Instant first = now - std::max<Instant::duration>(milliseconds{500}, time_of(1));
  const Instant saved_from = std::max(std::min(spent_until, now), first);
  const double saved = std::chrono::duration<double>{now - saved_from}.count() * it.per_second + 1e-6;
  const auto tokens = static_cast<std::int64_t>(std::floor(saved));
  inbox::Tokens out{std::min(it.wanted, tokens), {}};
  out.wait = std::chrono::ceil<milliseconds>(time_of(std::max(1 - (saved - std::floor(saved)), 0.0)));
  if (out.granted > 0) spent_until = saved_from + time_of(static_cast<double>(out.granted));
  return out;
}

int SimulatedDatabase::share_calls(int owner, const inbox::CallsRequest& it, Instant now) {
  const auto before = shares.find(owner);
  const Instant served = it.held > 0 ? now : before == shares.end() ? Instant::min() : before->second.served_at;
  shares.erase(owner);
  std::erase_if(shares, [&](const auto& each) { return each.second.leased_until < now; });
  if (it.wanted + it.held == 0) return 0;
  std::vector<std::tuple<Instant, int, int>> wanting;  // in turn: served, owner, wanted
  for (const auto& [other, share] : shares) {
    if (share.wanted > 0) wanting.emplace_back(share.served_at, other, share.wanted);
  }
  if (it.wanted > 0) wanting.emplace_back(served, owner, it.wanted);
  std::sort(wanting.begin(), wanting.end());
  const int count = static_cast<int>(wanting.size());
  int mine = 0, of_others = 0;
  for (int i = 0; i < count; ++i) {
    const auto& [when, of, wanted] = wanting[static_cast<std::size_t>(i)];
    const int share = it.most / count + (i < it.most % count && it.most < count ? 1 : 0);
    if (of == owner) mine = share;
    else of_others += std::min(wanted, share);
  }
  int free = it.most;
  for (const auto& [other, share] : shares) free -= share.calls;
  const int target = std::min({it.wanted, std::max(mine, it.most - of_others), std::max(free, 0)});
  shares[owner] = {std::max(target, it.held), it.wanted, target > it.held ? now : served, now + it.lease};
  return target;
}

}  // namespace inboxd::test
