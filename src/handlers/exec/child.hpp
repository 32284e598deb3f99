#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "descendants.hpp"
#include "program.hpp"

namespace exec_handler {

/// The longest wait for a child before the call's deadline and the stop are looked at again.
inline constexpr std::chrono::milliseconds exchange_interval{50};

/// A child process in a process group of its own, and its pipes. Not thread-safe. The destructor kills the group, and
/// the descendants that have left it.
class Child final {
 public:
  /// Throws std::runtime_error if it cannot be started. `more`: variables in addition to the program's own.
  Child(const Program& program, const std::vector<std::string>& more);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits until there is something to read or the child has ended, or, if `writes`, until it takes input; at most
  /// `limit`. Then moves bytes: from `input` to the child, from the child to `output` (stream mode) and `errors`.
  /// False once the child has ended and all it wrote is read.
  bool exchange(std::string_view& input, std::string& output, std::string& errors, std::chrono::milliseconds limit);
  bool lives() const { return process_ > 0 && !has_ended_; }
  /// No more input: the child reads its end.
  void close_input();
  /// After `exchange` returned false, or to end it now: kills the rest of the group and other descendants, and waits.
  /// How it ended: 0 to 255 an exit status, above 256 a signal.
  int end();

  static constexpr int signal_base = 256;

 private:
  struct Descriptor {
    int number = -1;
    ~Descriptor() { close(); }
    void close();
  };
  bool read(Descriptor& from, std::string& to, std::size_t most);
  void write(std::string_view& input);

  const Descendants descendants_;
  pid_t process_ = -1;
  Descriptor process_file_;  ///< readable once the child has ended
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  bool has_ended_ = false;
  int status_ = -1;
};

/// `exited with status 3`, `was killed by signal 9`.
std::string ending_text(int how);
/// The last line that is not empty; at most 1,000 bytes.
std::string last_line(std::string_view text);

/// The most bytes of an answer, and of a child's errors that are kept.
constexpr std::size_t max_output = 1 << 20;
constexpr std::size_t max_errors = 1 << 16;

}  // namespace exec_handler
