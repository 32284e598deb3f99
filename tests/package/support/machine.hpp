#pragma once
#include <memory>
#include <string>
#include <vector>

#include "support/environment.hpp"
#include "support/process.hpp"

namespace inboxd::support {

/// A small Debian of this machine's release, with a real systemd as its first process, in namespaces of its own but for
/// the network. Needs root. Ends with this object.
class Machine final {
 public:
  /// With these packages installed beforehand (they are kept in the cache).
  explicit Machine(const std::vector<std::string>& packages);

  /// Runs a command inside.
  Finished run(const std::vector<std::string>& command, milliseconds within = patience);
  /// The same, which has to succeed; returns its output without the last line's end.
  std::string must(const std::vector<std::string>& command, milliseconds within = patience);
  bool succeeds(const std::vector<std::string>& command) { return run(command).status == ExitStatus{0, 0}; }

  /// A file of the machine's, seen from outside; nothing below /run, /dev, /proc.
  std::filesystem::path operator/(std::string_view name) const { return folder_ / ("root/" + std::string{name}); }

  /// `systemctl show` of one property of a unit.
  std::string property(const std::string& unit, const std::string& name);
  /// What a unit has logged.
  std::string journal(const std::string& unit);

 private:
  TempFolder folder_;
  std::unique_ptr<Process> process_;
};

}  // namespace inboxd::support
