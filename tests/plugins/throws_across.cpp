// Breaks the contract: throws out of handle, and out of create with `when: create`.
#include <inboxd/handler.h>

#include <stdexcept>

namespace {

int no_state;

void* create(const inboxd_host*, const inboxd_config* config, char*, size_t) {
  if (inboxd_is(inboxd_text(inboxd_setting_text(config, "when", "handle")), "create")) {
    throw std::runtime_error{"out of create"};
  }
  return &no_state;
}

void handle(void*, inboxd_call* call, const inboxd_event* const* events, size_t) {
  inboxd_done(call, 0);
  if (inboxd_is(events[0]->key, "odd")) throw 42;
  throw std::runtime_error{"across the boundary"};
}

void destroy(void*) {}

}  // namespace

extern "C" INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host*) {
  static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "throws-across",
                                       "1.0", nullptr, create, handle, destroy};
  return &plugin;
}
