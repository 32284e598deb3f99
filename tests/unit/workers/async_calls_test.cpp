// Calls that stay open after the handler has returned.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using namespace test;
using std::chrono::milliseconds;

namespace {

/// Keeps calls open until the test ends them. Shared with its handler.
struct OpenCalls {
  using Done = plugin::Instance::Done;

  std::size_t count() {
    const std::lock_guard lock{mutex};
    return calls.size();
  }
  /// Ends the call of that event, with the verdict done.
  void end(std::int64_t offset) {
    std::unique_lock lock{mutex};
    const auto call = calls.extract(offset);
    lock.unlock();
    call.mapped()({event::Verdict{}});
  }
  void end_all() {
    std::unique_lock lock{mutex};
    for (const auto& [offset, done] : std::exchange(calls, {})) {
      lock.unlock();
      done({event::Verdict{}});
      lock.lock();
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

test::Setups async(const std::shared_ptr<OpenCalls>& open, const config::Handler& settings) {
  return test::setup(std::make_unique<AsyncInstance>(open), settings);
}

struct AsyncFixture : DispatcherFixture {
  explicit AsyncFixture(const test::HandlerOptions& options) { run(async(open, handler(options))); }
  bool opens(std::size_t calls) {
    return eventually([&] { return open->count() == calls; });
  }

  std::shared_ptr<OpenCalls> open = std::make_shared<OpenCalls>();
};

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator all{"/proc/self/task"};
  return std::distance(begin(all), end(all));
}

}  // namespace

TEST_CASE("200 asynchronous calls are open at once on one thread, and end in any order") {
  const auto before = threads();
  AsyncFixture it{{.concurrency = 200}};
  const auto idle = threads();
  it.ingest(offsets_from(0, 200));
  REQUIRE(it.opens(200));
  CHECK(threads() == idle);
  CHECK(idle - before < 10);
  it.open->end(7);
  REQUIRE(it.done(1));
  REQUIRE(eventually([&] { return it.may_ingest(lease_of({200})); }));  // once the queue knows that a place is free
  REQUIRE(it.opens(200));
  it.open->end_all();
  REQUIRE(it.done(201));
  CHECK(it.failures().empty());
}

TEST_CASE("an asynchronous call that ends before its start returns is done once") {
  AsyncFixture it{{.concurrency = 3}};
  it.open->at_once = true;
  it.ingest(offsets_from(0, 12));
  REQUIRE(it.done(12));
}

TEST_CASE("an asynchronous call past its deadline is charged; its late end changes nothing") {
  AsyncFixture it{{.concurrency = 1, .deadline = milliseconds{20}}};
  it.ingest({1});
  REQUIRE(it.retried(1));
  CHECK(it.classes() == test::Classes{"deadline"});
  CHECK(it.stats().abandoned == 1);
  it.ingest({2});
  REQUIRE(it.opens(2));  // another worker took its place
  it.open->end(2);
  REQUIRE(it.done(1));
  it.open->end(1);
  CHECK(it.abandoned(0));
  CHECK(it.database.done() == 1);
}

TEST_CASE("a reload beside open asynchronous calls lets them end, and new events go to the new instance") {
  AsyncFixture it{{.concurrency = 4}};
  it.ingest({1, 2});
  REQUIRE(it.opens(2));
  const auto fresh = std::make_shared<OpenCalls>();
  it.dispatcher.replace_handlers(async(fresh, handler({.concurrency = 4})));
  REQUIRE(it.caught_up());
  it.ingest({3});
  REQUIRE(eventually([&] { return fresh->count() == 1; }));
  it.open->end_all();
  fresh->end_all();
  REQUIRE(it.done(3));
  CHECK(it.failures().empty());
}

TEST_CASE("a stop gives up asynchronous calls that do not end, uncharged") {
  std::shared_ptr<OpenCalls> left;
  {
    AsyncFixture it{{.concurrency = 4}};
    left = it.open;
    it.ingest({1, 2});
    REQUIRE(it.opens(2));
    it.stop();
    CHECK(it.failures().empty());
  }
  left->end_all();  // after the dispatcher: the workers touch only shared objects
}

}  // namespace inboxd::dispatcher
