#pragma once
#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A small Debian of this machine's release with a real systemd as first process, in its own namespaces except the
/// network. Needs root. Ends with this object.
class Machine final {
 public:
  /// With these packages installed (cached).
  explicit Machine(const std::vector<std::string>& packages);

  /// Runs a command inside.
  Finished run(const std::vector<std::string>& command, milliseconds within = patience);
  /// Runs a command that has to succeed; returns its output without the final newline.
  std::string must(const std::vector<std::string>& command, milliseconds within = patience);
  bool succeeds(const std::vector<std::string>& command) { return run(command).status == ExitStatus{0, 0}; }

  /// The path of a machine's file, seen from outside; not for /run, /dev, /proc.
  std::filesystem::path operator/(std::string_view name) const { return folder_ / ("root/" + std::string{name}); }

  /// `systemctl show` of a property of a unit.
  std::string property(const std::string& unit, const std::string& name);
  /// The log of a unit.
  std::string journal(const std::string& unit);

 private:
  TempFolder folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace inboxd::support
