#include "cli/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace inboxd::cli {

bool may_write(const Session& session, const std::string& verb, const std::string& file, bool force) {
  std::error_code ignored;
  if (force || !std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) return true;
  session.say(verb + ": " + file + " exists; pass --force to replace it, or another --out FILE");
  return false;
}

base::ExitCode write_new_file(const Session& session, const std::string& verb, const std::string& file,
                              const std::string& text, bool force) {
  std::FILE* const out = std::fopen(file.c_str(), force ? "w" : "wx");  // x: never through a link, never over a file
  const bool is_written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool is_closed = out != nullptr && std::fclose(out) == 0;
  if (is_written && is_closed) return base::ExitCode::done;
  session.say(verb + ": " + file + " cannot be written: " + std::strerror(errno));
  return base::ExitCode::no;
}

}  // namespace inboxd::cli
