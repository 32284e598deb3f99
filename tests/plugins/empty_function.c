/* Its table lacks the function that handles events. */
#include <inboxd/handler.h>

static void* create(const inboxd_host* host, const inboxd_config* config, char* error, size_t error_size) {
  (void)host;
  (void)config;
  (void)error;
  (void)error_size;
  return NULL;
}

static void destroy(void* instance) { (void)instance; }

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const inboxd_plugin plugin = {sizeof(inboxd_plugin), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "empty-function",
                                       "1.0",                 NULL,             create,           NULL, destroy};
  (void)host;
  return &plugin;
}
