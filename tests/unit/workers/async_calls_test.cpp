// Calls that stay open after the handler has returned.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using std::chrono::milliseconds;
using support::eventually;
using test::DispatcherFixture;
using test::lease_of;
using test::offsets_from;

namespace {

/// Keeps calls open until the test ends them. Shared with its handler.
struct OpenCalls {
  using Done = plugin::Instance::Done;

  std::size_t count() {
    const std::lock_guard lock{mutex};
    return calls.size();
  }
  /// Ends the call of that event, with this verdict for it.
  void end(std::int64_t offset, event::Verdict verdict = {}) {
    Done done;
    {
      const std::lock_guard lock{mutex};
      done = std::move(calls.at(offset));
      calls.erase(offset);
    }
    done({std::move(verdict)});
  }
  void end_all() {
    for (;;) {
      std::int64_t last = 0;
      {
        const std::lock_guard lock{mutex};
        if (calls.empty()) return;
        last = calls.rbegin()->first;
      }
      end(last);
    }
  }

  std::mutex mutex;
  std::map<std::int64_t, Done> calls;
  bool at_once = false;
};

class AsyncInstance final : public plugin::Instance {
 public:
  explicit AsyncInstance(std::shared_ptr<OpenCalls> open) : open_{std::move(open)} {}
  Needs needs() const override { return {false, false, true}; }
  std::vector<event::Verdict> handle(std::span<const plugin::Delivered>, const plugin::Cancellation&,
                                     std::chrono::steady_clock::time_point) override {
    throw std::logic_error{"handle was called"};
  }
  void start(std::span<const plugin::Delivered> events, const plugin::Cancellation&,
             std::chrono::steady_clock::time_point, Done done) override {
    if (open_->at_once) return done({event::Verdict{}});
    const std::lock_guard lock{open_->mutex};
    open_->calls[events.front().event->offset] = std::move(done);
  }

 private:
  const std::shared_ptr<OpenCalls> open_;
};

struct AsyncFixture : DispatcherFixture {
  explicit AsyncFixture(config::Handler settings) {
    std::vector<HandlerSetup> setup;
    setup.push_back({7, std::move(settings), std::make_unique<AsyncInstance>(open), false});
    dispatcher.replace_handlers(std::move(setup));
    dispatcher.start();
    REQUIRE(caught_up());
  }
  std::int64_t done() { return settler.counters().done; }

  std::shared_ptr<OpenCalls> open = std::make_shared<OpenCalls>();
};

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator all{"/proc/self/task"};
  return std::distance(begin(all), end(all));
}

}  // namespace

TEST_CASE("200 asynchronous calls are open at once on one thread, and end in any order") {
  const auto before = threads();
  AsyncFixture test{DispatcherFixture::handler(200)};
  const auto idle = threads();
  REQUIRE(test.ingest(lease_of(offsets_from(0, 200))));
  REQUIRE(eventually([&] { return test.open->count() == 200; }));
  CHECK(threads() == idle);
  CHECK(idle - before < 10);
  test.open->end(7);
  REQUIRE(eventually([&] { return test.done() == 1; }));
  REQUIRE(eventually([&] { return test.ingest(lease_of({200})); }));  // once the queue knows that a place is free
  REQUIRE(eventually([&] { return test.open->count() == 200; }));
  test.open->end_all();
  REQUIRE(eventually([&] { return test.done() == 201; }));
  CHECK(test.settler.counters().retried == 0);
}

TEST_CASE("an asynchronous call that ends before its start returns is done once") {
  AsyncFixture test{DispatcherFixture::handler(3)};
  test.open->at_once = true;
  REQUIRE(test.ingest(lease_of(offsets_from(0, 12))));
  REQUIRE(eventually([&] { return test.done() == 12; }));
}

TEST_CASE("an asynchronous call past its deadline is charged; its late end changes nothing") {
  auto settings = DispatcherFixture::handler(1);
  settings.deadline = milliseconds{20};
  AsyncFixture test{settings};
  REQUIRE(test.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return test.settler.counters().retried == 1; }));
  CHECK(test.database.failures().at(0).error_class == "deadline");
  CHECK(test.dispatcher.stats(7).abandoned == 1);
  REQUIRE(test.ingest(lease_of({2})));
  REQUIRE(eventually([&] { return test.open->count() == 2; }));  // another worker took its place
  test.open->end(2);
  REQUIRE(eventually([&] { return test.done() == 1; }));
  test.open->end(1);
  CHECK(eventually([&] { return test.dispatcher.stats(7).abandoned == 0; }));
  CHECK(test.done() == 1);
}

TEST_CASE("a reload beside open asynchronous calls lets them end, and new events go to the new instance") {
  AsyncFixture test{DispatcherFixture::handler(4)};
  REQUIRE(test.ingest(lease_of({1, 2})));
  REQUIRE(eventually([&] { return test.open->count() == 2; }));
  const auto fresh = std::make_shared<OpenCalls>();
  std::vector<HandlerSetup> setup;
  setup.push_back({7, DispatcherFixture::handler(4), std::make_unique<AsyncInstance>(fresh), false});
  test.dispatcher.replace_handlers(std::move(setup));
  REQUIRE(test.caught_up());
  REQUIRE(test.ingest(lease_of({3})));
  REQUIRE(eventually([&] { return fresh->count() == 1; }));
  test.open->end_all();
  fresh->end_all();
  REQUIRE(eventually([&] { return test.done() == 3; }));
  CHECK(test.settler.counters().retried == 0);
}

TEST_CASE("a stop gives up asynchronous calls that do not end, uncharged") {
  std::shared_ptr<OpenCalls> left;
  {
    AsyncFixture test{DispatcherFixture::handler(4)};
    left = test.open;
    REQUIRE(test.ingest(lease_of({1, 2})));
    REQUIRE(eventually([&] { return test.open->count() == 2; }));
    test.dispatcher.request_stop();
    test.dispatcher.join(std::chrono::steady_clock::now());
    CHECK(test.settler.counters().retried == 0);
  }
  left->end_all();  // after the dispatcher: the workers touch only shared objects
}

}  // namespace inboxd::dispatcher
