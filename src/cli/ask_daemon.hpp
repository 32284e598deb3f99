#pragma once
#include <string>

#include "admin/operation.hpp"
#include "config/settings.hpp"

namespace inboxd::cli {

/// Has the running daemon of this configuration do an operation, over its admin port.
admin::Answer ask_daemon(const config::Settings& settings, const admin::Operation& operation,
                         const admin::Arguments& arguments);
/// The same by the operation's verb, which is in the table.
admin::Answer ask_daemon(const config::Settings& settings, const std::string& verb, const admin::Arguments& arguments);

}  // namespace inboxd::cli
