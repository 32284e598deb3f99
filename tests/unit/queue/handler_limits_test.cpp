// `rate` and `max_in_flight`, as one instance knows them.
#include <catch2/catch_test_macros.hpp>

#include "queue/limits.hpp"

namespace inboxd::dispatcher {

using Clock = RateTokens::Clock;
using std::chrono::milliseconds;

namespace {

const Clock::time_point start = Clock::time_point{} + std::chrono::hours{1};

RateTokens tokens_of(double per_second) {
  RateTokens tokens;
  tokens.configure(per_second);
  return tokens;
}

CallShare share_of(int most) {
  CallShare share;
  share.configure(most);
  return share;
}

}  // namespace

TEST_CASE("without limits nothing is asked for") {
  RateTokens tokens;
  CallShare share;
  CHECK(tokens.allowed(start) > 1'000'000'000);
  for (int i = 0; i < 1'000; ++i) share.begin();
  CHECK(share.may_begin(start));
  CHECK(tokens.next_ask() == Clock::time_point::max());
  CHECK(share.next_ask() == Clock::time_point::max());
  CHECK_FALSE(share.release());
}

TEST_CASE("a limit that a reload removes is asked for no more") {
  RateTokens tokens = tokens_of(200);
  tokens.note_waiting();
  tokens.configure(std::nullopt);
  CHECK(tokens.next_ask() == Clock::time_point::max());
  CHECK(tokens.allowed(start) > 1'000'000'000);
  CallShare share = share_of(10);
  share.note_waiting();
  share.ask(1, start);
  share.granted(1, start);
  share.configure(0);
  CHECK(share.ask(0, share.next_ask()).wanted == 0);
  share.granted(0, start);
  CHECK(share.next_ask() == Clock::time_point::max());
}

TEST_CASE("a tenth of a second's tokens are asked for once events wait") {
  RateTokens tokens = tokens_of(200);
  CHECK(tokens.allowed(start) == 0);
  CHECK(tokens.next_ask() == Clock::time_point::max());
  CHECK(tokens.note_waiting());
  CHECK_FALSE(tokens.note_waiting());  // the claimer knows
  CHECK(tokens.next_ask() <= start);
  CHECK(tokens.ask(start) == 20);
  tokens.granted({20, {}}, start);
  CHECK(tokens.allowed(start) == 20);
  tokens.spend(20);
  CHECK(tokens.allowed(start) == 0);
  tokens.give_back(5);
  CHECK(tokens.allowed(start) == 5);
}

TEST_CASE("after an answer with fewer tokens the next question waits") {
  RateTokens tokens = tokens_of(200);
  tokens.note_waiting();
  tokens.ask(start);
  tokens.granted({3, {}}, start);
  tokens.spend(3);
  tokens.note_waiting();
  CHECK(tokens.next_ask() == start + milliseconds{100});
  tokens.ask(start + milliseconds{100});
  tokens.granted({0, milliseconds{700}}, start + milliseconds{100});
  tokens.note_waiting();
  CHECK(tokens.next_ask() == start + milliseconds{800});
}

TEST_CASE("unused tokens go stale, also those of a slow rate") {
  RateTokens fast = tokens_of(200);
  fast.ask(start);
  fast.granted({20, {}}, start);
  CHECK(fast.allowed(start + milliseconds{999}) == 20);
  CHECK(fast.allowed(start + milliseconds{1'000}) == 0);
  CHECK(fast.ask(start + milliseconds{1'000}) == 20);
  RateTokens slow = tokens_of(1.0 / 60);
  CHECK(slow.ask(start) == 1);
  slow.granted({1, {}}, start);
  CHECK(slow.allowed(start + std::chrono::seconds{59}) == 1);
}

TEST_CASE("a call that is not cut leaves a debt, which is paid before the next one") {
  RateTokens tokens = tokens_of(100);
  tokens.ask(start);
  tokens.granted({10, {}}, start);
  tokens.spend(500);
  CHECK(tokens.allowed(start) == 0);
  CHECK(tokens.ask(start) == 500);
  tokens.granted({50, {}}, start);
  CHECK(tokens.allowed(start) == 0);
}

TEST_CASE("an instance makes as many calls as it was granted, for the time of the lease") {
  CallShare share = share_of(10);
  CHECK_FALSE(share.may_begin(start));
  CHECK(share.note_waiting());
  const auto ask = share.ask(4, start);
  CHECK((ask.most == 10 && ask.wanted == 4 && ask.held == 0));
  share.granted(2, start);
  CHECK(share.may_begin(start));
  share.begin();
  share.begin();
  CHECK_FALSE(share.may_begin(start));
  share.end();
  CHECK(share.may_begin(start + CallShare::lease - milliseconds{1}));
  CHECK_FALSE(share.may_begin(start + CallShare::lease));
}

TEST_CASE("calls that are asked back are held until they have ended") {
  CallShare share = share_of(10);
  share.note_waiting();
  share.ask(4, start);
  share.granted(4, start);
  for (int i = 0; i < 4; ++i) share.begin();
  share.ask(0, start);
  share.granted(2, start);
  share.end();
  CHECK_FALSE(share.may_begin(start));
  CHECK(share.next_ask() <= start + milliseconds{100});
  CHECK(share.ask(0, start).held == 3);
  share.end();
  CHECK(share.ask(0, start).held == 2);
}

TEST_CASE("an idle instance gives its calls back, and so does one that ends") {
  CallShare share = share_of(10);
  share.note_waiting();
  share.ask(4, start);
  share.granted(4, start);
  int questions = 0;
  auto now = start;
  while (share.next_ask() != Clock::time_point::max() && ++questions < 20) {
    now = share.next_ask();
    share.granted(std::min(4, share.ask(0, now).wanted), now);
  }
  CHECK(questions < 10);
  CHECK_FALSE(share.release());
  share.note_waiting();
  share.ask(4, now);
  share.granted(4, now);
  share.begin();
  const auto last = share.release();
  REQUIRE(last);
  CHECK((last->wanted == 0 && last->held == 1));
}

}  // namespace inboxd::dispatcher
