#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/finding.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// Where a key's value came from.
struct Origin {
  enum class From { default_value, file, handler_defaults };
  From from = From::default_value;
  Place place;  ///< in the file; none for a default
  bool operator==(const Origin&) const = default;
};

/// A configuration file that was read. The settings count only where `ok()`; the problems are all there are, not just
/// the first.
struct Loaded {
  std::string file;
  Settings settings;
  std::map<std::string, Origin> origins;  ///< by key (`handlers[0].retry.base`); defaults are not in it
  std::vector<Finding> problems;
  std::vector<Finding> warnings;

  bool ok() const { return problems.empty(); }
};

/// Reads and checks a configuration file: everything in it, secrets and environment variables included, nothing beyond
/// it (no database, no brokers, no plugins). Never throws for what a file may hold. Blocks for the file's reading.
Loaded load_file(const std::string& path, const Environment& environment);

/// The same for a text; `file` is how messages call it.
Loaded load_text(std::string_view text, const std::string& file, const Environment& environment);

/// The keys that differ and cannot be changed by a reload, such as `kafka.group` or `topics[0].start`; `topics` where
/// topics were added, removed or reordered. Empty: a reload will do.
std::vector<std::string> restart_needed(const Settings& before, const Settings& after);

/// Of the keys that stay as they were, all below them too, the origins as well: from `before` into `after`.
void keep_origins(const std::vector<std::string>& kept, const std::map<std::string, Origin>& before,
                  std::map<std::string, Origin>& after);

}  // namespace inboxd::config
