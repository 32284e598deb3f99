#include "trusted_program.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>

namespace exec_handler {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;

bool is_world_writable(const struct stat& about) { return (about.st_mode & S_IWOTH) != 0; }

std::string mode_text(const struct stat& about) {
  std::array<char, 8> out{};
  std::snprintf(out.data(), out.size(), "%04o", about.st_mode & 07777U);
  return out.data();
}

/// Walks the path name by name, links included.
class Walk {
 public:
  Walk(const std::string& file, const std::vector<uid_t>& users) : users_{users} { prepend(fs::absolute(file)); }

  std::optional<std::string> refusal() {
    while (!left_.empty()) {
      if (auto why = step()) return why;
    }
    const std::string path = here_.string();
    if (!is_trusted(about_.st_uid)) return path + " " + owner_text(about_.st_uid);
    if (is_world_writable(about_)) return writable_text(path);
    if (!is_trusted(folder_.st_uid)) {
      return "the folder " + here_.parent_path().string() + " " + owner_text(folder_.st_uid);
    }
    return std::nullopt;
  }

 private:
  void prepend(const fs::path& path) {
    if (path.is_absolute()) {
      here_ = "/";
      stat("/", &about_);
    }
    std::vector<std::string> names;
    for (const fs::path& name : path) {
      if (name != "/" && name != "." && !name.empty()) names.push_back(name.string());
    }
    left_.insert(left_.begin(), names.begin(), names.end());
  }

  std::optional<std::string> step() {
    const fs::path next = left_.front() == ".." ? here_.parent_path() : here_ / left_.front();
    left_.pop_front();
    struct stat about {};
    if (lstat(next.c_str(), &about) != 0) return next.string() + " cannot be checked: " + std::strerror(errno);
    // In such a folder anybody may make a file or link; the sticky bit protects files and links of trusted users.
    if (is_world_writable(about_) && !is_trusted(about.st_uid)) {
      return "the folder " + here_.string() + " is world-writable, and " + next.string() + " in it " +
             owner_text(about.st_uid);
    }
    if (S_ISLNK(about.st_mode)) {
      if (++links_ > max_links) return next.string() + " cannot be checked: " + std::strerror(ELOOP);
      prepend(fs::read_symlink(next));
      return std::nullopt;
    }
    if (S_ISDIR(about.st_mode) && is_world_writable(about) && (about.st_mode & S_ISVTX) == 0) {
      return "the folder " + writable_text(next.string(), about);
    }
    folder_ = about_;
    about_ = about;
    here_ = next;
    return std::nullopt;
  }

  bool is_trusted(uid_t user) const {
    return user == 0 || std::find(users_.begin(), users_.end(), user) != users_.end();
  }
  static std::string owner_text(uid_t user) {
    return "belongs to user " + std::to_string(user) + ", who could exchange it; give it to root with chown";
  }
  static std::string writable_text(const std::string& path, const struct stat& about) {
    return path + " is world-writable (mode " + mode_text(about) + "); run: chmod o-w " + path;
  }
  std::string writable_text(const std::string& path) const { return writable_text(path, about_); }

  const std::vector<uid_t>& users_;
  std::deque<std::string> left_;
  fs::path here_;
  struct stat about_ {};   ///< of `here_`
  struct stat folder_ {};  ///< of the folder that has it
  int links_ = 0;
};

}  // namespace

std::optional<std::string> why_untrusted(const std::string& file, const std::vector<uid_t>& users) {
  try {
    return Walk{file, users}.refusal();
  } catch (const fs::filesystem_error& error) {
    return std::string{"it cannot be checked: "} + error.code().message();
  }
}

}  // namespace exec_handler
