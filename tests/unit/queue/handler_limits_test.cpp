// `rate` and `max_in_flight`, as one instance knows them.
#include <catch2/catch_test_macros.hpp>

#include "queue/limits.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using Clock = RateTokens::Clock;

const Clock::time_point start = Clock::time_point{} + 1h;
constexpr auto never = Clock::time_point::max();

template <class Limit, class Most>
Limit with(Most most) {
  Limit out;
  out.configure(most);
  return out;
}
void get(RateTokens& tokens, std::int64_t granted, Clock::time_point now = start, std::chrono::milliseconds wait = {}) {
  tokens.ask(now);
  tokens.granted({granted, wait}, now);
}
void get(CallShare& share, int calls, int wanted = 4, Clock::time_point now = start) {
  share.note_waiting();
  share.ask(wanted, now);
  share.granted(calls, now);
}

}  // namespace

TEST_CASE("without limits nothing is asked for") {
  auto tokens = with<RateTokens>(std::nullopt);
  auto share = with<CallShare>(0);
  CHECK(tokens.allowed(start) > 1'000'000'000);
  for (int i = 0; i < 1'000; ++i) share.begin();
  CHECK(share.may_begin(start));
  CHECK(tokens.next_ask() == never);
  CHECK(share.next_ask() == never);
  CHECK_FALSE(share.release());
}

TEST_CASE("a limit that a reload removes is asked for no more") {
  auto tokens = with<RateTokens>(200);
  tokens.note_waiting();
  tokens.configure(std::nullopt);
  CHECK(tokens.next_ask() == never);
  CHECK(tokens.allowed(start) > 1'000'000'000);
  auto share = with<CallShare>(10);
  get(share, 1, 1);
  share.configure(0);
  CHECK(share.ask(0, share.next_ask()).wanted == 0);
  share.granted(0, start);
  CHECK(share.next_ask() == never);
}

TEST_CASE("a tenth of a second's tokens are asked for once events wait") {
  auto tokens = with<RateTokens>(200);
  CHECK(tokens.allowed(start) == 0);
  CHECK(tokens.next_ask() == never);
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
  auto tokens = with<RateTokens>(200);
  get(tokens, 3);
  tokens.note_waiting();
  CHECK(tokens.next_ask() == start + 100ms);
  get(tokens, 0, start + 100ms, 700ms);
  tokens.note_waiting();
  CHECK(tokens.next_ask() == start + 800ms);
}

TEST_CASE("unused tokens go stale, also those of a slow rate") {
  auto fast = with<RateTokens>(200), slow = with<RateTokens>(1.0 / 60);
  get(fast, 20);
  CHECK(fast.allowed(start + 999ms) == 20);
  CHECK(fast.allowed(start + 1s) == 0);
  CHECK(fast.ask(start + 1s) == 20);
  CHECK(slow.ask(start) == 1);
  get(slow, 1);
  CHECK(slow.allowed(start + 59s) == 1);
}

TEST_CASE("a call that is not cut leaves a debt, which is paid before the next one") {
  auto tokens = with<RateTokens>(100);
  get(tokens, 10);
  tokens.spend(500);
  CHECK(tokens.allowed(start) == 0);
  CHECK(tokens.ask(start) == 500);
  tokens.granted({50, {}}, start);
  CHECK(tokens.allowed(start) == 0);
}

TEST_CASE("an instance makes as many calls as it was granted, for the time of the lease") {
  auto share = with<CallShare>(10);
  CHECK_FALSE(share.may_begin(start));
  CHECK(share.note_waiting());
  const auto ask = share.ask(4, start);
  CHECK((ask.most == 10 && ask.wanted == 4 && ask.held == 0));
  share.granted(2, start);
  share.begin();
  CHECK(share.may_begin(start));
  share.begin();
  CHECK_FALSE(share.may_begin(start));
  share.end();
  CHECK(share.may_begin(start + CallShare::lease - 1ms));
  CHECK_FALSE(share.may_begin(start + CallShare::lease));
}

TEST_CASE("calls that are asked back are held until they have ended") {
  auto share = with<CallShare>(10);
  get(share, 4);
  for (int i = 0; i < 4; ++i) share.begin();
  get(share, 2, 0);
  for (const int left : {3, 2}) {
    share.end();
    CHECK(share.may_begin(start) == false);
    CHECK(share.next_ask() <= start + 100ms);
    CHECK(share.ask(0, start).held == left);
  }
}

TEST_CASE("an idle instance gives its calls back, and so does one that ends") {
  auto share = with<CallShare>(10);
  get(share, 4);
  int questions = 0;
  auto now = start;
  for (; share.next_ask() != never && questions < 20; ++questions) {
    now = share.next_ask();
    share.granted(std::min(4, share.ask(0, now).wanted), now);
  }
  CHECK(questions < 10);
  CHECK_FALSE(share.release());
  get(share, 4, 4, now);
  share.begin();
  const auto last = share.release();
  REQUIRE(last);
  CHECK((last->wanted == 0 && last->held == 1));
}

}  // namespace inboxd::dispatcher
