// The veneer compiles without warnings in C++17 and C++20, inline functions included.
#include <inboxd/handler.hpp>

namespace {

struct Everything : inboxd::Handler {
  explicit Everything(const inboxd::Settings& settings)
      : text{settings.text("text", "")},
        number{settings.number("number")},
        wait{settings.duration("wait", std::chrono::seconds{1})},
        flag{settings.boolean("flag", true)} {}

  void handle_batch(inboxd::Call& call, const inboxd::Events& events) override {
    for (const inboxd::Event event : events) {
      if (event.header(text) == "no") call.settle(event, inboxd::dead("no"));
      if (call.traceparent(event) && !call.tracestate(event)) call.settle(event, inboxd::dead("no state"));
      inboxd::PublishSpan span = call.publish_span(event, "kafka", "receipts");
      if (span.traceparent()) span.sent();
      if (event.attempt() > number) call.settle(event, inboxd::retry(wait, "later"));
    }
    call.settle_rest(flag ? inboxd::done() : inboxd::retry("again", "flag.off"));
  }

  std::string text;
  std::int64_t number;
  inboxd::Milliseconds wait;
  bool flag;
};

}  // namespace

INBOXD_HANDLER(Everything, "everything", "1.0")
