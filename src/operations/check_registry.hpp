#pragma once
#include "operations/check.hpp"

namespace inboxd::operations {

/// Asks each schema registry of the topics. A registry that does not answer is a warning, because records wait for it.
FoundList check_registries(const config::Settings& settings);

/// Reads the schema files of the topics.
FoundList check_schema_files(const config::Settings& settings);

}  // namespace inboxd::operations
