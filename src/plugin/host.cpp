#include "plugin/host.hpp"

#include "base/text.hpp"
#include "plugin/bytes.hpp"

namespace inboxd::plugin {
namespace {

/// What is no level becomes a warning: it is a mistake in the plugin, and the line should be seen.
base::LogLevel level_of(std::int32_t level) {
  switch (level) {
    case INBOXD_LOG_DEBUG: return base::LogLevel::debug;
    case INBOXD_LOG_INFO: return base::LogLevel::info;
    case INBOXD_LOG_ERROR: return base::LogLevel::error;
    default: return base::LogLevel::warn;
  }
}

std::string line_of(inboxd_bytes text) { return base::shorten(to_view(text), INBOXD_LOG_LIMIT); }

const void* extension(const inboxd_host*, const char* name) {
  return name == nullptr ? nullptr : find_extension(name);
}

void keep(const inboxd_host* host, std::int32_t level, inboxd_bytes text) {
  static_cast<const EntryHost*>(host)->remarks->push_back({level_of(level), line_of(text)});
}

void write(const inboxd_host* host, std::int32_t level, inboxd_bytes text) {
  const auto& self = *static_cast<const HandlerHost*>(host);
  self.logger.write(level_of(level), "handler: " + line_of(text), {{"handler", self.handler}},
                    "handler: a line of its own");
}

inboxd_host face(void (*log)(const inboxd_host*, std::int32_t, inboxd_bytes)) {
  return {sizeof(inboxd_host), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, INBOXD_VERSION, log, extension};
}

}  // namespace

const void* find_extension(std::string_view) { return nullptr; }  // version 1.0 has none

EntryHost::EntryHost(std::vector<Remark>& its_remarks) : inboxd_host{face(keep)}, remarks{&its_remarks} {}

HandlerHost::HandlerHost(base::Logger& its_log, std::string its_handler)
    : inboxd_host{face(write)}, logger{its_log}, handler{std::move(its_handler)} {}

}  // namespace inboxd::plugin
