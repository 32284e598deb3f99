// A typical handler in C++: an insert per event, in the transaction that settles it.
#include <inboxd/handler.hpp>

namespace {

/// The 16 digits of the order number, as generator.cpp writes them.
inboxd::MaybeText order_of(inboxd::MaybeText payload) {
  constexpr std::string_view field = R"({"order":")";
  constexpr std::size_t digits = 16;
  if (!payload || payload->size() < field.size() + digits) return std::nullopt;
  return payload->substr(field.size(), digits);
}

struct InsertHandler : inboxd::Handler {
  explicit InsertHandler(const inboxd::Settings&) {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    call.sql().execute("insert into bench_application.applied (event_id, order_number) values ($1, $2)", event.uuid(),
                       order_of(event.payload()));
    return inboxd::done();
  }
};

}  // namespace

INBOXD_HANDLER(InsertHandler, "booker", "1.0", INBOXD_SQL)
