#include <catch2/catch_test_macros.hpp>
#include <string>

#include "queue/handler_queue.hpp"
#include "unit/queue/keyed_runs.hpp"
#include "unit/queue/questions.hpp"

namespace inboxd::dispatcher {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("the claimer is woken once there is room for the rest of a sequence") {
  config::Handler settings;
  settings.name = "test";
  settings.mode = config::Mode::sequential;
  settings.concurrency = 1;
  HandlerQueue queue{7, settings, milliseconds{200}, std::make_shared<Budgets>(10'000, 10'000'000)};
  HandlerQueue::Clock::time_point now{seconds{1'000}};
  queue.configure(settings, {}, now);
  queue.assigned(test::sequence_of_runs);
  bool has_read = false;
  while (const auto request = queue.next(Class::claim, now, 1)) {
    Answer answer = test::nothing_for(*request);
    std::vector<HandlerQueue::Loaded> runs;
    if (std::holds_alternative<TakeSequences>(*request)) answer = std::vector{test::sequence_of_runs};
    if (const auto* const claim = std::get_if<ClaimInOrder>(&*request)) {
      REQUIRE(claim->request.claim.events > 10);
      inbox::ClaimedInOrder read;
      read.sequences.push_back({test::sequence_of_runs, inbox::SequenceRead::State::more});
      runs.push_back(
          {test::run_of_keys(0, std::string(static_cast<std::size_t>(claim->request.claim.events - 1), '-')), 6'000});
      answer = std::move(read);
      has_read = true;
    }
    queue.answer(*request, answer, runs, {now, now});
    queue.end_change(now);
  }
  REQUIRE(has_read);
  CHECK(queue.next_due(Class::claim, now) > now);
  bool is_woken = queue.end_change(now).claimer;
  CHECK_FALSE(is_woken);
  for (int i = 0; i < 4'000 && !is_woken; ++i) {
    for (const RunSlice& slice : queue.take(now).slices) queue.settled(*slice.run, slice.size(), now);
    is_woken = queue.end_change(now).claimer;
  }
  CHECK(is_woken);
}

}  // namespace inboxd::dispatcher
