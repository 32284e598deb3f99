#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/logger.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/call_sql.hpp"
#include "plugin/loader.hpp"

namespace inboxd::plugin {

/// Whether this daemon has an extension. A new extension needs a row here, its functions in Call::extension and, if it
/// serves hosts, in host.cpp.
bool has_extension(std::string_view name);

/// The host while the plugin is asked for its table. There is no handler yet, so its log lines are kept as remarks.
struct EntryHost : inboxd_host {
  explicit EntryHost(std::vector<Remark>& remarks);
  std::vector<Remark>* remarks;  ///< the caller's
};

/// The host of a handler's instance: its log lines carry the handler's name. Neither copied nor moved: the plugin keeps
/// its address.
struct HandlerHost : inboxd_host {
  HandlerHost(base::Logger& its_log, std::string its_handler, transaction::SqlDescriber* its_describer = nullptr);
  HandlerHost(const HandlerHost&) = delete;
  HandlerHost& operator=(const HandlerHost&) = delete;

  /// Null without a describer.
  const inboxd_sql_result* describe(const inboxd_sql_statement* statement) const;
  /// `create` has returned.
  void forget_describer();

  base::Logger& logger;
  std::string handler;

 private:
  transaction::SqlDescriber* describer_;
  mutable std::unique_ptr<SqlAnswer> described_;
};

}  // namespace inboxd::plugin
