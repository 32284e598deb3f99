#include "admin/page_key.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/socket.hpp"
#include "base/text.hpp"

namespace inboxd::admin {
namespace {

constexpr std::size_t key_bytes = 32;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  return value == nullptr ? "" : value;
}

/// The folders in which a daemon of this user keeps its key, the best one first.
std::vector<std::filesystem::path> folders_of(const config::Admin& settings) {
  std::vector<std::filesystem::path> out;
  const std::string runtime = variable("RUNTIME_DIRECTORY");
  if (!runtime.empty()) out.emplace_back(runtime.substr(0, runtime.find(':')));
  if (!settings.socket.empty()) out.push_back(std::filesystem::path{settings.socket}.parent_path());
  if (::geteuid() == 0) out.emplace_back("/run/inboxd");
  const std::string own = variable("XDG_RUNTIME_DIR");
  if (!own.empty()) out.push_back(std::filesystem::path{own} / "inboxd");
  out.emplace_back("/tmp/inboxd-" + std::to_string(::geteuid()));
  return out;
}

/// systemd's, for root: /run/inboxd and /run/inboxd-NAME.
void add_folders_of_services(std::vector<std::filesystem::path>& folders) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/run", ignored}) {
    if (entry.path().filename().string().starts_with("inboxd-")) folders.push_back(entry.path());
  }
}

/// By port: daemons of a user may run side by side.
std::string file_name(const config::Admin& settings) {
  return "page-" + settings.listen.substr(settings.listen.rfind(':') + 1) + ".key";
}

/// No other user may put files there.
bool is_own_folder(const std::filesystem::path& folder) {
  struct stat found {};
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Replaces the file. False: it cannot be written there.
bool write_file(const std::filesystem::path& file, const std::string& text) {
  ::unlink(file.c_str());
  const base::Socket out{::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  const std::string line = text + "\n";
  return out.get() >= 0 && ::write(out.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

/// Empty: no key of this user or root's choosing is there.
std::string read_file(const std::filesystem::path& file) {
  const base::Socket in{::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat found {};
  if (in.get() < 0 || ::fstat(in.get(), &found) != 0 || !S_ISREG(found.st_mode)) return "";
  const bool is_ours = found.st_uid == ::geteuid() || ::geteuid() == 0;
  if (!is_ours || (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "";
  std::array<char, 2 * key_bytes> text{};
  const auto count = ::read(in.get(), text.data(), text.size());
  return count == static_cast<ssize_t>(text.size()) ? std::string{text.data(), text.size()} : "";
}

}  // namespace

std::string random_page_key() {
  std::array<char, key_bytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error{errno, std::generic_category(), "getrandom"};
  }
  return base::hex({bytes.data(), bytes.size()});
}

config::AdminUi rights_of_page(const config::Admin& settings) {
  if (settings.ui != config::AdminUi::automatic) return settings.ui;
  return settings.token.empty() ? config::AdminUi::read_only : config::AdminUi::full;
}

PageKey::~PageKey() {
  // The port is closed by now: a successor may have written its own key.
  if (!file_.empty() && read_file(file_) == text_) ::unlink(file_.c_str());
}

std::string PageKey::write(const config::Admin& settings) {
  if (settings.listen == "off" || settings.ui == config::AdminUi::off) return "";
  const std::string key = random_page_key();
  std::string tried;
  for (const auto& folder : folders_of(settings)) {
    ::mkdir(folder.c_str(), 0700);  // it may exist
    if (is_own_folder(folder) && write_file(folder / file_name(settings), key)) {
      file_ = folder / file_name(settings);
      text_ = key;
      return "";
    }
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  return "none of these folders can have a file of this user: " + tried;
}

base::Result<std::string> read_page_key(const config::Admin& settings) {
  if (settings.ui == config::AdminUi::off) return base::Problem{"admin.ui is off; set it to full or read-only"};
  if (settings.listen == "off") return base::Problem{"admin.listen is off, and a browser needs a port; set it"};
  std::string tried;
  auto folders = folders_of(settings);
  if (::geteuid() == 0) add_folders_of_services(folders);
  for (const auto& folder : folders) {
    auto key = read_file(folder / file_name(settings));
    if (!key.empty()) return key;
    tried += (tried.empty() ? "" : ", ") + (folder / file_name(settings)).string();
  }
  return base::Problem{"found no key of a running daemon (" + tried +
                       "); run this on its machine, as its user or root, or sign in on the page with admin.token"};
}

}  // namespace inboxd::admin
