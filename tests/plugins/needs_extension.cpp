// Needs an extension that no daemon has.
#include <inboxd/handler.hpp>

namespace {

struct Needs : inboxd::Handler {
  explicit Needs(const inboxd::Settings&) {}
};

}  // namespace

INBOXD_HANDLER(Needs, "needs-extension", "1.0", "inboxd.telepathy/1")
