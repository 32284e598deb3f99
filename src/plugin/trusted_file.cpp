#include "plugin/trusted_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace inboxd::plugin {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;              // the kernel's limit
constexpr unsigned noexec_seal = 0x8;      // MFD_NOEXEC_SEAL, which older headers lack
constexpr std::size_t max_name_length = 200;  // the kernel takes 249 bytes
constexpr std::size_t bytes_at_once = 1 << 16;
constexpr const char* allow_call = "; allow this system call (SystemCallFilter= of systemd, seccomp of a container)";

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }
bool is_world_writable(const struct stat& facts) { return (facts.st_mode & S_IWOTH) != 0; }

std::string mode_text(mode_t mode) {
  std::string out = "0000";
  for (std::size_t i = 0; i < 4; ++i) out[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return out;
}

std::string last_error() { return std::strerror(errno); }

std::string right_owner() {
  const uid_t user = ::geteuid();
  return user == 0 ? "root" : "root or user " + std::to_string(user) + ", the daemon's user";
}

std::string belongs_to_another(uid_t owner) {
  return "belongs to user " + std::to_string(owner) + "; it must belong to " + right_owner();
}

/// Walks a path name by name. It follows links itself, so that the folders they lead through are checked, too.
class Walk final {
 public:
  explicit Walk(const std::string& path) {
    std::error_code error;
    asked_ = fs::absolute(path, error);
    prepend(asked_);
  }

  base::Result<TrustedFile> to_file() {
    if (auto problem = enter({}, base::Socket{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)})) return *problem;
    while (!left_.empty()) {
      const std::string name = std::move(left_.front());
      left_.pop_front();
      if (auto problem = step(name)) return *problem;
    }
    return open_file();
  }

 private:
  struct Place {
    fs::path path = "/";
    base::Socket descriptor = base::Socket{};
    struct stat facts {};
  };

  void prepend(const fs::path& path) {
    auto at = left_.begin();
    for (const fs::path& name : path.relative_path()) {
      if (!name.empty() && name != ".") at = std::next(left_.insert(at, name.string()));
    }
  }

  std::optional<base::Problem> step(const std::string& name) {
    if (!S_ISDIR(here_.facts.st_mode)) return unreachable(here_.path, std::strerror(ENOTDIR));
    base::Socket next{::openat(here_.descriptor.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    return enter(name, std::move(next));
  }

  /// The walk continues at `name`, which is open as `descriptor`.
  std::optional<base::Problem> enter(const std::string& name, base::Socket descriptor) {
    Place next{name == ".." ? here_.path.parent_path() : here_.path / name, std::move(descriptor), {}};
    if (!next.descriptor || ::fstat(next.descriptor.get(), &next.facts) != 0) {
      return unreachable(next.path, last_error());
    }
    // Only a sticky folder gets here: owners may change their own entries.
    if (is_world_writable(here_.facts) && name != ".." && !is_trusted(next.facts.st_uid)) {
      return refusal("the folder " + here_.path.string() + " is world-writable, and " + next.path.string() + " in it " +
                     belongs_to_another(next.facts.st_uid));
    }
    if (S_ISLNK(next.facts.st_mode)) return follow(next);
    if (S_ISDIR(next.facts.st_mode) && is_world_writable(next.facts) && (next.facts.st_mode & S_ISVTX) == 0) {
      return refusal("the folder " + next.path.string() + " is world-writable (mode " + mode_text(next.facts.st_mode) +
                     "); run: chmod o-w " + next.path.string());
    }
    folder_owner_ = here_.facts.st_uid;
    here_ = std::move(next);
    return std::nullopt;
  }

  std::optional<base::Problem> follow(const Place& link) {
    if (++links_ > max_links) return unreachable(link.path, std::strerror(ELOOP));
    std::array<char, PATH_MAX> target{};
    const auto size = ::readlinkat(link.descriptor.get(), "", target.data(), target.size());
    if (size < 0) return unreachable(link.path, last_error());
    const fs::path path{std::string{target.data(), static_cast<std::size_t>(size)}};
    prepend(path);
    if (path.is_relative()) return std::nullopt;
    here_ = Place{};
    return enter({}, base::Socket{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)});
  }

  base::Result<TrustedFile> open_file() {
    const std::string path = here_.path.string();
    if (!S_ISREG(here_.facts.st_mode)) {
      return refusal("it is not a regular file; give the path of a shared object (.so)");
    }
    if (!is_trusted(here_.facts.st_uid)) return refusal("it " + belongs_to_another(here_.facts.st_uid));
    if (is_world_writable(here_.facts)) {
      return refusal("it is world-writable (mode " + mode_text(here_.facts.st_mode) + "); run: chmod o-w " + path);
    }
    // The folder's owner may replace the file. Folders further up may belong to others: a checkout that root builds and
    // runs.
    if (!is_trusted(folder_owner_)) {
      return refusal("the folder " + here_.path.parent_path().string() + " " + belongs_to_another(folder_owner_));
    }
    // By descriptor: another file may have the name by now.
    const std::string same = "/proc/self/fd/" + std::to_string(here_.descriptor.get());
    base::Socket file{::open(same.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file) return refusal("the daemon's user cannot read it: " + last_error() + "; run: chmod o+r " + path);
    struct statvfs mounted {};
    if (::fstatvfs(file.get(), &mounted) == 0 && (mounted.f_flag & ST_NOEXEC) != 0) {
      return refusal("its file system is mounted noexec; move it to a file system without noexec");
    }
    return TrustedFile{path, std::move(file)};
  }

  base::Problem refusal(const std::string& why_and_what) const {
    return {"plugin file " + asked_.string() + " is not loaded: " + why_and_what};
  }
  base::Problem unreachable(const fs::path& where, const std::string& why) const {
    const std::string place = where == asked_ ? "" : where.string() + ": ";
    return {"plugin file " + asked_.string() + " cannot be reached: " + place + why +
            "; give the path of a shared object that the daemon's user can read"};
  }

  fs::path asked_;
  std::deque<std::string> left_;
  Place here_;
  uid_t folder_owner_ = 0;  ///< of the folder that contains `here_`
  int links_ = 0;
};

base::Problem refusal(const TrustedFile& file, const std::string& why_and_what) {
  return {"plugin file " + file.path + " is not loaded: " + why_and_what};
}

/// The copy is mapped, never executed as a program: sealing it noexec costs nothing and satisfies vm.memfd_noexec. Its
/// name appears in /proc/PID/maps.
base::Socket make_memory(const std::string& path) {
  const std::string name = std::filesystem::path{path}.filename().string().substr(0, max_name_length);
  base::Socket memory{::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | noexec_seal)};
  if (memory || errno != EINVAL) return memory;
  return base::Socket{::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING)};  // before Linux 6.3
}

bool is_same_state(const struct stat& before, const struct stat& after) {
  const auto same = [](const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; };
  return before.st_size == after.st_size && same(before.st_mtim, after.st_mtim) && same(before.st_ctim, after.st_ctim);
}

/// Up to `bytes_at_once` bytes from an offset on. Negative: an error.
ssize_t read_at(int file, std::array<char, bytes_at_once>& out, off_t offset) {
  std::size_t size = 0;
  while (size < out.size()) {
    const ssize_t got = ::pread(file, out.data() + size, out.size() - size, offset + static_cast<off_t>(size));
    if (got < 0) return got;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(size);
}

/// Whether a segment of the shared object reaches beyond the file's end. The dynamic linker does not check that, and
/// reading such a segment ends the process (SIGBUS).
bool is_truncated(int file, off_t size) {
  ElfW(Ehdr) header{};
  if (::pread(file, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * sizeof segment);
    if (::pread(file, &segment, sizeof segment, at) != static_cast<ssize_t>(sizeof segment)) return true;
    const auto end = static_cast<std::uint64_t>(segment.p_offset) + segment.p_filesz;
    if (segment.p_type == PT_LOAD && end > static_cast<std::uint64_t>(size)) return true;
  }
  return false;
}

}  // namespace

base::Result<TrustedFile> open_trusted(const std::string& path) { return Walk{path}.to_file(); }

base::Result<base::Socket> copy_to_memory(const TrustedFile& file) {
  struct stat before {};
  struct stat after {};
  if (::fstat(file.descriptor.get(), &before) != 0) return refusal(file, "fstat: " + last_error());
  base::Socket memory = make_memory(file.path);
  if (!memory) {
    return refusal(file, "it cannot be copied to memory: memfd_create: " + last_error() + allow_call);
  }
  off_t offset = 0;
  while (offset < before.st_size) {
    const auto left = static_cast<std::size_t>(before.st_size - offset);
    const ssize_t copied = ::sendfile(memory.get(), file.descriptor.get(), &offset, left);
    if (copied < 0) {
      return refusal(file, "it cannot be copied to memory: sendfile: " + last_error() +
                               "; check its file system and the daemon's memory limit");
    }
    if (copied == 0) break;
  }
  if (::fstat(file.descriptor.get(), &after) != 0 || !is_same_state(before, after)) {
    return refusal(file, "it changed while it was read; try again after its build has finished");
  }
  if (is_truncated(memory.get(), before.st_size)) return refusal(file, "it is truncated; build or copy it again");
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
    return refusal(file, "its copy in memory cannot be sealed: fcntl(F_ADD_SEALS): " + last_error() + allow_call);
  }
  return memory;
}

bool have_same_bytes(int one, int other) {
  std::array<char, bytes_at_once> ours{};
  std::array<char, bytes_at_once> theirs{};
  for (off_t offset = 0;; offset += static_cast<off_t>(bytes_at_once)) {
    const ssize_t size = read_at(one, ours, offset);
    if (size < 0 || read_at(other, theirs, offset) != size) return false;
    if (std::memcmp(ours.data(), theirs.data(), static_cast<std::size_t>(size)) != 0) return false;
    if (size < static_cast<ssize_t>(bytes_at_once)) return true;
  }
}

}  // namespace inboxd::plugin
