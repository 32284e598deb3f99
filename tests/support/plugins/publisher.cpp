// Publishes each event to the topic of setting `to`, with its key and payload, and an id that it returns. It needs only
// the outbox. A payload with "fail" fails after the message was published.
#include <inboxd/handler.hpp>

namespace {

struct Publisher : inboxd::Handler {
  explicit Publisher(const inboxd::Settings& settings) : to_{settings.text("to")} {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    const std::string id = event.id();
    call.outbox().publish(to_, event.key(), event.payload(), {{"eventType", "Published"}, {"cause", id}});
    if (event.payload()->find("fail") != std::string_view::npos) return inboxd::dead("as it was told", "test");
    return inboxd::done();
  }

 private:
  std::string to_;
};

}  // namespace

INBOXD_HANDLER(Publisher, "publisher", "1.0", INBOXD_OUTBOX)
