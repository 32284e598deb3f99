#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/plugin.hpp"
#include "plugin/sql.hpp"

namespace inboxd::plugin {

/// Whether this daemon has an extension. A new one gets its row here, its part of a call in Call::extension and, where
/// it has one, its part of a host in host.cpp.
bool has_extension(std::string_view name);

/// The host as a plugin sees it while it is asked for its table: there is no handler yet, so what it logs is kept.
struct EntryHost : inboxd_host {
  explicit EntryHost(std::vector<Remark>& remarks);
  std::vector<Remark>* remarks;  ///< the caller's
};

/// The host as the instance of one handler sees it: its lines go to the daemon's log with the handler's name. Neither
/// copied nor moved, since the plugin keeps its address.
struct HandlerHost : inboxd_host {
  HandlerHost(base::Logger& its_log, std::string its_handler, inbox::SqlDescriber* its_describer = nullptr);
  HandlerHost(const HandlerHost&) = delete;
  HandlerHost& operator=(const HandlerHost&) = delete;

  /// Null without a describer: then nothing can be said.
  const inboxd_sql_result* describe(const inboxd_sql_statement* statement) const;
  /// `create` has returned.
  void forget_describer();

  base::Logger& logger;
  std::string handler;

 private:
  inbox::SqlDescriber* describer_;
  mutable std::unique_ptr<SqlAnswer> described_;
};

}  // namespace inboxd::plugin
