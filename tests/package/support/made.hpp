#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace inboxd::support {

/// A file of the source tree.
std::filesystem::path source_file(const std::string& name);

/// A plugin of these tests' own.
std::filesystem::path own_plugin(const std::string& name);

/// Runs a program, shows on failure what it said, and throws; returns what it wrote to stdout.
std::string must(const std::vector<std::string>& arguments, milliseconds within = patience);

/// `cmake --install` below that folder.
void install_below(const std::filesystem::path& prefix);

/// Makes the Debian packages of this build under that version; returns inboxd's and inboxd-dev's files.
struct Packages {
  std::filesystem::path daemon;
  std::filesystem::path development;
};
Packages make_packages(const std::filesystem::path& folder, const std::string& version);

/// The names of what a package depends on, without versions and alternatives.
std::vector<std::string> dependencies_of(const std::filesystem::path& package);

}  // namespace inboxd::support
