#include "cli/bundle.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "config/exposure.hpp"
#include "operations/documents.hpp"

namespace inboxd::cli {
namespace {

using operations::Document;

constexpr std::size_t min_text = 200;

/// Messages of others may not be UTF-8: the terminal's or the server's language, another service on the admin port.
std::size_t size_of(const Document& part) {
  return part.dump(-1, ' ', false, Document::error_handler_t::replace).size();
}

/// The member, at any depth, that takes the most bytes and can be shortened; null: none.
Document* largest_of(Document& part, std::size_t& bytes) {
  Document* out = nullptr;
  const bool is_shortable = (part.is_array() && part.size() > 1) ||
                            (part.is_string() && part.get_ref<const std::string&>().size() > min_text);
  if (is_shortable) {
    bytes = size_of(part);
    out = &part;
  }
  if (!part.is_object()) return out;
  for (auto& [name, member] : part.items()) {
    std::size_t its = 0;
    Document* const found = largest_of(member, its);
    if (found != nullptr && its > bytes) {
      bytes = its;
      out = found;
    }
  }
  return out;
}

void hide_all(Document& part, const config::Texts& texts) {
  if (part.is_string()) part = config::without_texts(part.get<std::string>(), texts);
  if (!part.is_structured()) return;
  for (auto& member : part) hide_all(member, texts);
}

std::string first_line(const char* path) {
  std::ifstream in{path};
  std::string out;
  std::getline(in, out);
  return out;
}

}  // namespace

void hide(Document& part, const config::Texts& texts) {
  config::Texts all = texts;
  for (const std::string& text : texts) {
    std::string coded = base::base64(text);
    while (coded.ends_with('=')) coded.pop_back();
    all.push_back(std::move(coded));
  }
  hide_all(part, all);
}

void fit(Document& part, std::size_t limit) {
  std::size_t left_out = 0;
  while (size_of(part) > limit) {
    std::size_t bytes = 0;
    Document* const largest = largest_of(part, bytes);
    if (largest == nullptr) {
      part = {{"left_out", "larger than " + std::to_string(limit) + " bytes"}};
      return;
    }
    if (largest->is_array()) {
      const std::size_t kept = largest->size() / 2;
      left_out += largest->size() - kept;
      largest->erase(largest->begin() + static_cast<std::ptrdiff_t>(kept), largest->end());
    } else {
      const auto& text = largest->get_ref<const std::string&>();
      *largest = base::shorten(text, text.size() / 2);
    }
  }
  if (left_out > 0 && part.is_object()) part["left_out"] = left_out;
}

std::optional<std::string> write_new_file(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return path + " exists; choose another name";
  if (file < 0) return path + ": " + std::strerror(errno);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t now = ::write(file, bytes.data() + written, bytes.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) break;
    written += static_cast<std::size_t>(now);
  }
  const bool is_whole = written == bytes.size();
  const std::string problem = is_whole ? "" : path + ": " + std::strerror(errno);
  ::close(file);
  if (is_whole) return std::nullopt;
  ::unlink(path.c_str());
  return problem;
}

Document machine() {
  utsname system{};
  ::uname(&system);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const std::string limit = first_line("/sys/fs/cgroup/memory.max");
  return {{"kernel", std::string{system.sysname} + " " + system.release + " " + system.machine},
          {"processors", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)},
          {"memory_limit", limit.empty() ? "unknown" : limit},
          {"open_files_limit", static_cast<std::int64_t>(files.rlim_cur)}};
}

}  // namespace inboxd::cli
