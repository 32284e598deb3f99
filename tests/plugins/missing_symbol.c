/* A shared object that is no plugin: it has no function with the entry's name. */
#include <inboxd/handler.h>

const inboxd_plugin* a_plugin_entry(const inboxd_host* host);

const inboxd_plugin* a_plugin_entry(const inboxd_host* host) {
  (void)host;
  return NULL;
}
