// Throws from handle for the keys `standard` and `odd`, from the constructor with `when: create`, and from handle_batch
// after the first event with `when: batch`.
#include <inboxd/handler.hpp>

namespace {

struct Throws : inboxd::Handler {
  explicit Throws(const inboxd::Settings& settings) : when{settings.text("when", "handle")} {
    if (when == "create") throw std::runtime_error{"there is no such table: receipt; create it first"};
    if (when == "create-odd") throw 42;
  }

  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
    if (event.key() == "standard") throw std::runtime_error{"the ledger does not balance"};
    if (event.key() == "odd") throw 42;
    return inboxd::done();
  }

  void handle_batch(inboxd::Call& call, const inboxd::Events& events) override {
    if (when != "batch") return Handler::handle_batch(call, events);
    call.settle(events[0], inboxd::done());
    throw std::runtime_error{"the batch fell apart"};
  }

  std::string when;
};

}  // namespace

INBOXD_HANDLER(Throws, "throws", "1.0")
