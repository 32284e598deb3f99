#include "plugin/host.hpp"

#include "base/text.hpp"
#include "plugin/abi/inboxd/async.h"
#include "plugin/abi/inboxd/json.h"
#include "plugin/abi/inboxd/outbox.h"
#include "plugin/abi/inboxd/trace.h"
#include "plugin/bytes.hpp"

namespace inboxd::plugin {
namespace {

/// An invalid level becomes a warning: it is a mistake in the plugin and should be seen.
base::LogLevel level_of(std::int32_t level) {
  switch (level) {
    case INBOXD_LOG_DEBUG:
      return base::LogLevel::debug;
    case INBOXD_LOG_INFO:
      return base::LogLevel::info;
    case INBOXD_LOG_ERROR:
      return base::LogLevel::error;
    default:
      return base::LogLevel::warn;
  }
}

std::string line_of(inboxd_bytes text) { return base::shorten(to_view(text), INBOXD_LOG_LIMIT); }

const void* part_of_handlers(const inboxd_host*, const char* name) {
  return name != nullptr && std::string_view{name} == INBOXD_SQL ? sql_host_part() : nullptr;
}

const void* part_at_entry(const inboxd_host*, const char* name) {
  return name != nullptr && std::string_view{name} == INBOXD_SQL ? sql_entry_part() : nullptr;
}

void keep(const inboxd_host* host, std::int32_t level, inboxd_bytes text) {
  static_cast<const EntryHost*>(host)->remarks->push_back({level_of(level), line_of(text)});
}

void write(const inboxd_host* host, std::int32_t level, inboxd_bytes text) {
  const auto& self = *static_cast<const HandlerHost*>(host);
  self.logger.write(level_of(level), "handler: " + line_of(text), {{"handler", self.handler}}, "handler.log");
}

inboxd_host face(void (*log)(const inboxd_host*, std::int32_t, inboxd_bytes),
                 const void* (*find)(const inboxd_host*, const char*)) {
  return {sizeof(inboxd_host), INBOXD_ABI_MAJOR, INBOXD_ABI_MINOR, INBOXD_VERSION, log, find};
}

}  // namespace

bool has_extension(std::string_view name) {
  return name == INBOXD_SQL || name == INBOXD_SQL_WITHOUT_PAYLOADS || name == INBOXD_OUTBOX || name == INBOXD_TRACE ||
         name == INBOXD_ASYNC || name == INBOXD_JSON;
}

EntryHost::EntryHost(std::vector<Remark>& its_remarks)
    : inboxd_host{face(keep, part_at_entry)}, remarks{&its_remarks} {}

HandlerHost::HandlerHost(base::Logger& its_log, std::string its_handler, transaction::SqlDescriber* its_describer)
    : inboxd_host{face(write, part_of_handlers)},
      logger{its_log},
      handler{std::move(its_handler)},
      describer_{its_describer} {}

const inboxd_sql_result* HandlerHost::describe(const inboxd_sql_statement* statement) const {
  if (describer_ == nullptr) return nullptr;
  auto result = SqlQuestion{statement, 0}.answered_by([&](const auto& asked) { return describer_->describe(asked); });
  if (!result) return nullptr;
  described_ = std::make_unique<SqlAnswer>(std::move(result));
  return described_.get();
}

void HandlerHost::forget_describer() {
  describer_ = nullptr;
  described_.reset();
}

}  // namespace inboxd::plugin
