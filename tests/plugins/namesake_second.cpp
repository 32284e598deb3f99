// Its class has the same name as in namesake_first.cpp; both export all symbols.
#include <inboxd/handler.hpp>

struct Namesake : inboxd::Handler {
  explicit Namesake(const inboxd::Settings&) {}
  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event&) override { return inboxd::dead("of the second"); }
};

INBOXD_HANDLER(Namesake, "second", "1.0")
