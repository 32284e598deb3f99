#include "plugin/trust.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace inboxd::plugin {
namespace {

namespace fs = std::filesystem;

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

std::string mode_text(mode_t mode) {
  std::string out = "0000";
  for (std::size_t i = 0; i < 4; ++i) out[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return out;
}

base::Problem refusal(const std::string& path, const std::string& why_and_what) {
  return {"plugin file " + path + " is not loaded: " + why_and_what};
}

std::string last_error() { return std::strerror(errno); }

std::string right_owner() {
  const uid_t user = ::geteuid();
  return user == 0 ? "root" : "root or user " + std::to_string(user) + ", whom the daemon runs as";
}

std::optional<base::Problem> distrust_file(const std::string& path, struct stat& facts) {
  if (::stat(path.c_str(), &facts) != 0) return refusal(path, last_error());
  if (!S_ISREG(facts.st_mode)) return refusal(path, "it is no regular file; a plugin is a shared object (.so)");
  if (!is_trusted(facts.st_uid)) {
    return refusal(path, "it belongs to user " + std::to_string(facts.st_uid) + "; it must belong to " + right_owner());
  }
  if ((facts.st_mode & S_IWOTH) != 0) {
    return refusal(path, "everybody may write to it (mode " + mode_text(facts.st_mode) + "); chmod o-w " + path);
  }
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return refusal(path, "the daemon's user cannot read it: " + last_error());
  ::close(file);
  return std::nullopt;
}

}  // namespace

std::optional<base::Problem> distrust(const std::string& path) {
  struct stat below {};
  if (auto problem = distrust_file(path, below)) return problem;
  fs::path inside = path;
  do {
    const fs::path folder = inside.parent_path();
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return refusal(path, folder.string() + ": " + last_error());
    // Its owner may put another file in the plugin's place. Further up a checkout may well be somebody's whose build
    // and daemon run as root.
    if (inside == fs::path{path} && !is_trusted(facts.st_uid)) {
      return refusal(path, "the folder " + folder.string() + " belongs to user " + std::to_string(facts.st_uid) +
                               "; it must belong to " + right_owner());
    }
    if ((facts.st_mode & S_IWOTH) != 0) {
      if ((facts.st_mode & S_ISVTX) == 0) {
        return refusal(path, "everybody may write to the folder " + folder.string() + " (mode " +
                                 mode_text(facts.st_mode) + "); chmod o-w " + folder.string());
      }
      if (!is_trusted(below.st_uid)) {  // anybody could have made this one, and its owner may change it at any time
        return refusal(path, "everybody may write to " + folder.string() + ", and " + inside.string() +
                                 " in it belongs to user " + std::to_string(below.st_uid) + "; it must belong to " +
                                 right_owner());
      }
    }
    below = facts;
    inside = folder;
  } while (inside != inside.root_path());
  return std::nullopt;
}

}  // namespace inboxd::plugin
