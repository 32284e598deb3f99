/* Claims the right version, but its table is too short. */
#include <inboxd/handler.h>

INBOXD_EXPORT const inboxd_plugin* inboxd_plugin_entry(const inboxd_host* host) {
  static const struct {
    uint32_t struct_size;
    uint16_t abi_major;
    uint16_t abi_minor;
    const char* name;
  } plugin = {sizeof plugin, INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, "short-struct"};
  (void)host;
  return (const inboxd_plugin*)(const void*)&plugin;
}
