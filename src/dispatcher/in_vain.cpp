#include "dispatcher/in_vain.hpp"

#include <algorithm>

namespace inboxd::dispatcher {
namespace {

/// A transaction that the database keeps ending is repeated so often before its events are charged for it.
constexpr int most_repeats = 30;
/// One whose connection breaks while a statement of the handler's runs, or what it deferred to COMMIT: that may have
/// crashed the server; at COMMIT also a session shows that was dead before. What breaks elsewhere, or cannot be
/// connected to, is repeated for ever.
constexpr int most_in_statement = 3;
constexpr int most_in_commit = 5;
/// One whose statement the server did not end at its deadline: a server that hangs, and no event may be charged for
/// that, or a statement that cannot be cancelled. The next try waits until the server is done with the last.
constexpr int most_cut_off = 10;
/// One for which the server has too little memory: others may have taken it, or this one needs so much.
constexpr int most_short_of = 5;
constexpr InVain::Wait first_repeat{5};
constexpr InVain::Wait first_reconnect{100};
constexpr int most_doublings = 5;

}  // namespace

bool InVain::note(Why why) {
  why_ = why;
  if (is_contention()) return ++ended_ > most_repeats;
  if (why == Why::no_event) return false;
  if (why == Why::cut_off) return ++cut_off_ >= most_cut_off;  // it has waited for its deadline already
  ++others_;
  switch (why) {
    case Why::in_statement:
      return ++in_statement_ >= most_in_statement;
    case Why::in_commit:
      return ++in_commit_ >= most_in_commit;
    case Why::short_of:
      return ++short_of_ > most_short_of;
    default:
      return false;
  }
}

/// What others ended runs again soon; what was lost with its connection later and later.
InVain::Wait InVain::wait() const {
  if (is_contention()) return first_repeat * std::max(ended_, 1);
  return first_reconnect * (1 << std::min(std::max(others_ - 1, 0), most_doublings));
}

/// The first time, and whenever the wait has doubled.
InVain::Said InVain::said() const {
  if (is_contention()) return ended_ <= 1 ? Said::in_passing : Said::no;
  return others_ <= most_doublings + 1 ? Said::aloud : Said::no;
}

}  // namespace inboxd::dispatcher
