#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/plugin.hpp"

namespace inboxd::plugin {

/// The host's part of a named extension, or null. A new extension (SQL in the settling transaction, the outbox) gets
/// its row here and its part of a call in Call::extension.
const void* find_extension(std::string_view name);

/// The host as a plugin sees it while it is asked for its table: there is no handler yet, so what it logs is kept.
struct EntryHost : inboxd_host {
  explicit EntryHost(std::vector<Remark>& remarks);
  std::vector<Remark>* remarks;                ///< the caller's
};

/// The host as the instance of one handler sees it: its lines go to the daemon's log with the handler's name. Neither
/// copied nor moved, since the plugin keeps its address.
struct HandlerHost : inboxd_host {
  HandlerHost(base::Logger& its_log, std::string its_handler);
  HandlerHost(const HandlerHost&) = delete;
  HandlerHost& operator=(const HandlerHost&) = delete;

  base::Logger& logger;
  std::string handler;
};

}  // namespace inboxd::plugin
