#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace inboxd::support {

/// A variable that tests/run exports (see config/setup/servers). Throws with a remedy if it is not set.
std::string needed(const char* variable);

/// Set by tests/run --long.
bool is_long();

/// A new name, valid as SQL identifier, topic and group: `t_4f07c1a2b3`.
std::string random_name(std::string_view prefix = "t");

/// An unused port of 127.0.0.1 that no other test gets while this process runs. config/setup/servers chooses above it.
int free_port();

/// A folder under $TMPDIR, removed at the end. Other users may enter it (PostgreSQL's user must).
class TempFolder final {
 public:
  /// `parent`: a short path if the folder will hold sockets.
  explicit TempFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);  ///< empty if there is no file, or no longer its process
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace inboxd::support
