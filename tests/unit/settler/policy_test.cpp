#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "settler/settlement.hpp"

namespace inboxd::settler {
namespace {

using event::Verdict;
using std::chrono::milliseconds;

config::Retry policy(config::Backoff backoff, milliseconds base, milliseconds cap, double jitter = 0) {
  config::Retry retry;
  retry.max_attempts = 5;
  retry.backoff = backoff;
  retry.base = base;
  retry.cap = cap;
  retry.jitter = jitter;
  return retry;
}

Verdict verdict(Verdict::Kind kind, std::optional<milliseconds> delay = std::nullopt) {
  return {kind, delay, "c", "m"};
}

}  // namespace

TEST_CASE("a fixed backoff waits the same after every attempt") {
  const auto retry = policy(config::Backoff::fixed, milliseconds{2'000}, milliseconds{300'000});
  CHECK(backoff_for(retry, 1, 0.3) == milliseconds{2'000});
  CHECK(backoff_for(retry, 15, 0.9) == milliseconds{2'000});
}

TEST_CASE("a linear backoff grows by its base") {
  const auto retry = policy(config::Backoff::linear, milliseconds{2'000}, milliseconds{300'000});
  CHECK(backoff_for(retry, 1, 0.5) == milliseconds{2'000});
  CHECK(backoff_for(retry, 4, 0.5) == milliseconds{8'000});
}

TEST_CASE("an exponential backoff doubles up to its cap") {
  const auto retry = policy(config::Backoff::exponential, milliseconds{30'000}, milliseconds{300'000});
  CHECK(backoff_for(retry, 1, 0.5) == milliseconds{30'000});
  CHECK(backoff_for(retry, 2, 0.5) == milliseconds{60'000});
  CHECK(backoff_for(retry, 4, 0.5) == milliseconds{240'000});
  CHECK(backoff_for(retry, 5, 0.5) == milliseconds{300'000});
}

TEST_CASE("a backoff never overflows, however high the attempt number") {
  const auto backoff = GENERATE(config::Backoff::fixed, config::Backoff::linear, config::Backoff::exponential);
  const auto century = std::chrono::duration_cast<milliseconds>(std::chrono::hours{24 * 36'525});
  const auto retry = policy(backoff, century, century, 1.0);
  for (const std::int32_t attempt : {0, 1, 64, 1'000'000, std::numeric_limits<std::int32_t>::max()}) {
    CHECK(backoff_for(retry, attempt, 0.999) <= 2 * century);
    CHECK(backoff_for(retry, attempt, 0.0) >= milliseconds{0});
  }
}

TEST_CASE("jitter spreads a delay evenly around itself, also at the cap") {
  const auto retry = policy(config::Backoff::exponential, milliseconds{1'000}, milliseconds{10'000}, 0.2);
  CHECK(backoff_for(retry, 1, 0.0) == milliseconds{800});
  CHECK(backoff_for(retry, 1, 0.5) == milliseconds{1'000});
  CHECK(backoff_for(retry, 1, 0.999'999) == milliseconds{1'200});
  CHECK(backoff_for(retry, 20, 0.999'999) == milliseconds{12'000});
  CHECK(backoff_for(retry, 20, 0.0) == milliseconds{8'000});
}

TEST_CASE("an event expires if its retry would come too late, and is dead after its last attempt") {
  const auto retry = policy(config::Backoff::fixed, milliseconds{100}, milliseconds{1'000});
  const auto failed = verdict(Verdict::Kind::retry);
  CHECK(transition_for(failed, 0, retry, 0.5, milliseconds{101}) == Transition{RetryIn{milliseconds{100}}});
  CHECK(transition_for(failed, 0, retry, 0.5, milliseconds{100}) == Transition{Expired{}});
  CHECK(transition_for(failed, 0, retry, 0.5, milliseconds{-5}) == Transition{Expired{}});
  CHECK(transition_for(verdict(Verdict::Kind::retry, milliseconds{200}), 0, retry, 0.5, milliseconds{150}) ==
        Transition{Expired{}});
  CHECK(transition_for(failed, 4, retry, 0.5, milliseconds{1}) == Transition{Dead{}});
  CHECK(transition_for(verdict(Verdict::Kind::done), 0, retry, 0.5, milliseconds{1}) == Transition{Done{}});
}

TEST_CASE("a done event is done at any attempt") {
  const config::Retry retry;
  CHECK(transition_for(verdict(Verdict::Kind::done), 0, retry, 0.5) == Transition{Done{}});
  CHECK(transition_for(verdict(Verdict::Kind::done), 1'000, retry, 0.5) == Transition{Done{}});
}

TEST_CASE("a failing event is retried until the last attempt, then it is dead") {
  const auto retry = policy(config::Backoff::fixed, milliseconds{100}, milliseconds{1'000});
  CHECK(transition_for(verdict(Verdict::Kind::retry), 0, retry, 0.5) == Transition{RetryIn{milliseconds{100}}});
  CHECK(transition_for(verdict(Verdict::Kind::retry), 3, retry, 0.5) == Transition{RetryIn{milliseconds{100}}});
  CHECK(transition_for(verdict(Verdict::Kind::retry), 4, retry, 0.5) == Transition{Dead{}});
  CHECK(transition_for(verdict(Verdict::Kind::retry), std::numeric_limits<std::int32_t>::max(), retry, 0.5) ==
        Transition{Dead{}});
}

TEST_CASE("a handler's verdict dead takes effect at once") {
  CHECK(transition_for(verdict(Verdict::Kind::dead), 0, {}, 0.5) == Transition{Dead{}});
}

TEST_CASE("a delay that the handler asks for is kept, without jitter and above the cap") {
  const auto retry = policy(config::Backoff::exponential, milliseconds{100}, milliseconds{1'000}, 0.5);
  CHECK(transition_for(verdict(Verdict::Kind::retry, milliseconds{7'777}), 2, retry, 0.9) ==
        Transition{RetryIn{milliseconds{7'777}}});
  CHECK(transition_for(verdict(Verdict::Kind::retry, milliseconds{-5}), 2, retry, 0.9) ==
        Transition{RetryIn{milliseconds{0}}});
  CHECK(transition_for(verdict(Verdict::Kind::retry, milliseconds{10}), 4, retry, 0.9) == Transition{Dead{}});
}

}  // namespace inboxd::settler
