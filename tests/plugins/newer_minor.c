/* Built for a later minor version: its table is longer, and it asks before it uses newer functions. */
#include <inboxd/handler.h>

typedef struct later_host {
  uint32_t struct_size;
  uint16_t abi_major;
  uint16_t abi_minor;
  const char* version;
  void (*log)(const inboxd_host* host, int32_t level, inboxd_bytes text);
  const void* (*extension)(const inboxd_host* host, const char* name);
  void (*of_the_future)(const inboxd_host* host);
} later_host;

typedef struct later_plugin {
  inboxd_plugin today;
  void (*of_the_future)(void* instance);
} later_plugin;

static int no_state;

static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
  const later_host* const later = (const later_host*)(const void*)host;
  (void)config;
  (void)error;
  (void)error_size;
  if (INBOXD_HAS(later, of_the_future)) later->of_the_future(host);
  return &no_state;
}

static void handle(void* instance, inboxd_call* call, const inboxd_event* const* events, size_t count) {
  (void)instance;
  (void)events;
  (void)count;
  inboxd_done(call, INBOXD_THE_REST);
}

static void destroy(void* instance) { (void)instance; }

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const later_plugin plugin = {{sizeof plugin, INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR + 1, "newer-minor", "1.0",
                                       NULL, create, handle, destroy},
                                      destroy};
  inboxd_log(host, INBOXD_LOG_INFO, "newer-minor: works without what is new");
  return &plugin.today;
}
