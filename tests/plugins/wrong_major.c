/* Built for another major version, which shares only the first three fields. */
#include <inboxd/handler.h>

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const struct {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
  } plugin = {sizeof plugin, INBOXD_ABI_MAJOR + 1, 3};
  (void)host;
  return (const inboxd_plugin*)(const void*)&plugin;
}
