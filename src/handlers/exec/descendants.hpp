#pragma once
#include <string>

namespace exec_handler {

/// The processes that a child starts and that leave its process group. They inherit a mark in their environment. A
/// process that clears its environment is not found.
class Descendants final {
 public:
  /// From now on orphans of this process's descendants become its own children.
  Descendants();

  /// The mark, for the environment of the child.
  const std::string& variable() const { return variable_; }
  /// Kills the descendants that are left, after the child has ended, and reaps them.
  void end() const;

 private:
  bool is_marked(int process) const;

  std::string variable_;
};

}  // namespace exec_handler
