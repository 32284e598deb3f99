#pragma once
#include <string>

#include "base/exit_code.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {

/// Whether a new file may be written there; else the reason and the remedy are printed.
bool may_write(const Session& session, const std::string& verb, const std::string& file, bool force);

/// Writes a text to a file, which must be new unless `force`. Prints the reason if it cannot.
base::ExitCode write_new_file(const Session& session, const std::string& verb, const std::string& file,
                              const std::string& text, bool force);

}  // namespace inboxd::cli
