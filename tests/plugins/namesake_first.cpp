// Its class has the same name as in namesake_second.cpp; both export all symbols.
#include <inboxd/handler.hpp>

struct Namesake : inboxd::Handler {
  explicit Namesake(const inboxd::Settings&) {}
  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event&) override { return inboxd::dead("of the first"); }
};

INBOXD_HANDLER(Namesake, "first", "1.0")
