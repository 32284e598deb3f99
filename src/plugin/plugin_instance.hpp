#pragma once
#include <memory>

#include "base/logger.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"
#include "plugin/abi/inboxd/handler.h"
#include "plugin/instance.hpp"

namespace inboxd::plugin {

/// Makes an instance of a plugin whose table was checked.
base::Result<std::unique_ptr<Instance>> make_instance(const inboxd_plugin* table, const config::Handler& handler,
                                                      base::Logger& log,
                                                      transaction::SqlDescriber* describer = nullptr);

}  // namespace inboxd::plugin
