/* Refuses this daemon with a message. */
#include <inboxd/handler.h>

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  inboxd_log(host, INBOXD_LOG_ERROR, "this handler needs inboxd 99 or newer");
  return NULL;
}
