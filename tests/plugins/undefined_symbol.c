/* Calls a function that no library defines, as if linked without one. */
#include <inboxd/handler.h>

const inboxd_plugin* a_function_of_a_missing_library(void);

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  (void)host;
  return a_function_of_a_missing_library();
}
