// Works on its first event until it is cancelled.
#include <inboxd/handler.hpp>

#include <thread>

namespace {

struct Hangs : inboxd::Handler {
  explicit Hangs(const inboxd::Settings&) {}

  void handle_batch(inboxd::Call& call, const inboxd::Events& events) override {
    call.settle(events[0], inboxd::done());
    while (!call.is_cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
};

}  // namespace

INBOXD_HANDLER(Hangs, "hangs", "1.0")
