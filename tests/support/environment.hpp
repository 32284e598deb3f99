#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace inboxd::support {

/// A variable that tests/run exports (config/setup/servers says which). Throws, with advice, where it is not set.
std::string needed(const char* variable);

/// Whether the kill tests and their like run often (tests/run --long).
bool is_long();

/// `t_4f07c1a2b3`: a lower-case SQL identifier, a topic's and a group's name, new each time.
std::string random_name(std::string_view prefix = "t");

/// A port of 127.0.0.1 with nobody listening, below the range that outgoing connections take theirs from.
int free_port();

/// A folder under $TMPDIR, removed with all that is in it. Other users may enter it (PostgreSQL's user must).
class TempFolder final {
 public:
  /// Where sockets are made in it, below a short `parent`.
  explicit TempFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);  ///< empty where there is none
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace inboxd::support
