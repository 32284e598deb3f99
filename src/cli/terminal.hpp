#pragma once
#include <termios.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace inboxd::cli {

enum class Key { up, down, page_up, page_down, enter, back, quit, other };

/// The whole screen of the terminal on stdin and stdout, without echo; as before at the end. The main thread.
class Terminal final {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    std::size_t columns = 80, lines = 24;
    bool operator==(const Size&) const = default;
  };
  static Size size();

  /// The next key; nullopt: none came within that time, or stdin has ended.
  std::optional<Key> key(std::chrono::milliseconds within);
  bool has_ended() const { return has_ended_; }

  /// Shows these lines, and clears the rest. Lines may be longer than the screen is wide: they are cut by the terminal.
  void show(const std::string& text);

 private:
  termios before_{};
  bool has_ended_ = false;
};

}  // namespace inboxd::cli
