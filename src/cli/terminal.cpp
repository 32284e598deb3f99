#include "cli/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

namespace inboxd::cli {
namespace {

constexpr std::string_view open_screen = "\x1b[?1049h\x1b[?25l\x1b[?7l";  // another screen, no cursor, no line breaks
constexpr std::string_view close_screen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

Key key_of(std::string_view bytes) {
  constexpr std::array<std::pair<std::string_view, Key>, 16> keys{{{"q", Key::quit},
                                                                   {"\x1b[A", Key::up},
                                                                   {"\x1bOA", Key::up},
                                                                   {"k", Key::up},
                                                                   {"\x1b[B", Key::down},
                                                                   {"\x1bOB", Key::down},
                                                                   {"j", Key::down},
                                                                   {"\x1b[5~", Key::page_up},
                                                                   {"\x1b[6~", Key::page_down},
                                                                   {" ", Key::page_down},
                                                                   {"\r", Key::enter},
                                                                   {"\n", Key::enter},
                                                                   {"\x1b[C", Key::enter},
                                                                   {"\x1b", Key::back},
                                                                   {"\x7f", Key::back},
                                                                   {"\x1b[D", Key::back}}};
  for (const auto& [text, key] : keys) {
    if (bytes == text) return key;
  }
  return Key::other;
}

}  // namespace

Terminal::Terminal() {
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(open_screen);
}

Terminal::~Terminal() {
  write_all(close_screen);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Terminal::Size Terminal::size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) return {};
  return {found.ws_col, found.ws_row};
}

std::optional<Key> Terminal::key(std::chrono::milliseconds within) {
  pollfd wanted{STDIN_FILENO, POLLIN, 0};
  if (::poll(&wanted, 1, static_cast<int>(within.count())) <= 0) return std::nullopt;
  std::array<char, 16> bytes{};
  const auto count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) {
    has_ended_ = true;
    return std::nullopt;
  }
  return key_of({bytes.data(), static_cast<std::size_t>(count)});
}

void Terminal::show(const std::string& text) {
  std::string out = "\x1b[H";
  for (const char c : text) {
    if (c == '\n') out += "\x1b[K\r\n";
    else out += c;
  }
  write_all(out + "\x1b[J");
}

}  // namespace inboxd::cli
