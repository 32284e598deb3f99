/* A shared object without the entry function. */
#include <inboxd/handler.h>

const inboxd_plugin* a_plugin_entry(const inboxd_host* host);

const inboxd_plugin* a_plugin_entry(const inboxd_host* host) {
  (void)host;
  return NULL;
}
