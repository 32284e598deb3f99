#include "queue/expiry.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

constexpr event::Microseconds second = 1'000'000;

/// A run of events that occurred at these seconds; nullopt: unknown, stored at 50 s. They expire after 100 s.
std::shared_ptr<settler::Run> run_of_times(const std::vector<std::optional<int>>& occurred, bool never = false) {
  auto lease = test::with_events(test::lease_of(test::offsets_from(10, occurred.size())),
                                 [&](event::Event& event, std::size_t i, auto&) {
                                   event.occurred_at.reset();
                                   if (occurred[i]) event.occurred_at = *occurred[i] * second;
                                   event.received_at = 50 * second;
                                 });
  lease.never_expires = never;
  return std::make_shared<settler::Run>(
      std::move(lease), std::make_shared<const config::Policy>(config::Policy{{}, std::chrono::seconds{100}}),
      std::make_shared<test::RecordingOwner>(), "receipt");
}

using Range = std::pair<std::size_t, std::size_t>;
template <class Part>
std::vector<Range> ranges_of(const std::vector<Part>& parts) {
  std::vector<Range> out;
  for (const Part& part : parts) out.emplace_back(part.first, part.end);
  return out;
}

}  // namespace

TEST_CASE("events that have expired are reported instead of called, the others stay in order") {
  std::vector<RunSlice> slices{{run_of_times({10, 90, 10, 10, std::nullopt, 100}), 0, 6, false, true}};
  const auto reports = take_out_expired(slices, 110 * second);
  REQUIRE(ranges_of(reports) == std::vector<Range>{{0, 1}, {2, 4}});
  REQUIRE(reports[1].failed.size() == 2);
  CHECK(reports[1].failed[1].index == 3);
  CHECK(reports[1].failed[1].kind == settler::FailedEvent::Kind::expired);
  CHECK(ranges_of(slices) == std::vector<Range>{{1, 2}, {4, 6}});
}

TEST_CASE("expired events neither tear the call that they were taken for, nor join it to the call before") {
  const auto before = run_of_times({90}), torn = run_of_times({90, 10, 90}), gone = run_of_times({10}),
             rest = run_of_times({90});
  std::vector<RunSlice> slices{{before, 0, 1, false, true},
                               {torn, 0, 3, false, true},
                               {gone, 0, 1, false, true},
                               {rest, 0, 1, false, false}};
  CHECK(take_out_expired(slices, 110 * second).size() == 2);
  std::vector<bool> begins;
  for (const RunSlice& slice : slices) begins.push_back(slice.begins_call);
  CHECK(begins == std::vector<bool>{true, true, false, true});
}

TEST_CASE("an event without the time it occurred expires by the time it was stored") {
  std::vector<RunSlice> slices{{run_of_times({std::nullopt}), 0, 1}};
  CHECK(take_out_expired(slices, 149 * second).empty());
  CHECK(take_out_expired(slices, 150 * second).size() == 1);
  CHECK(slices.empty());
}

TEST_CASE("an event with a deliver_at expires by that time") {
  auto lease = test::with_events(test::lease_of({10}), [](event::Event& event, std::size_t, auto&) {
    event.occurred_at = 10 * second;
    event.deliver_at = 200 * second;
  });
  const auto run = std::make_shared<settler::Run>(
      std::move(lease), std::make_shared<const config::Policy>(config::Policy{{}, std::chrono::seconds{100}}),
      std::make_shared<test::RecordingOwner>(), "receipt");
  std::vector<RunSlice> slices{{run, 0, 1}};
  CHECK(take_out_expired(slices, 299 * second).empty());
  CHECK(take_out_expired(slices, 300 * second).size() == 1);
}

TEST_CASE("an event that an operator has replayed does not expire again") {
  std::vector<RunSlice> slices{{run_of_times({10}, true), 0, 1}};
  CHECK(take_out_expired(slices, 1'000 * second).empty());
  CHECK(slices.size() == 1);
}

}  // namespace inboxd::dispatcher
