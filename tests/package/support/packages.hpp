#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace inboxd::support {

/// A file of the source tree.
std::filesystem::path source_file(const std::string& name);

/// A plugin of these tests.
std::filesystem::path own_plugin(const std::string& name);

/// Runs a program and returns its stdout; throws with its output if it fails.
std::string must(const std::vector<std::string>& arguments, milliseconds within = patience);

/// `cmake --install` below that folder.
void install_below(const std::filesystem::path& prefix);

/// Builds the Debian packages of this build under that version.
struct Packages {
  std::filesystem::path daemon;
  std::filesystem::path development;
};
/// `build`: the build folder; empty: that of this test.
Packages make_packages(const std::filesystem::path& folder, const std::string& version,
                       const std::filesystem::path& build = {});

/// Names of a package's dependencies, without versions and alternatives.
std::vector<std::string> dependencies_of(const std::filesystem::path& package);

}  // namespace inboxd::support
