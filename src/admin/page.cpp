#include "admin/page.hpp"

#include <algorithm>
#include <string>

#include "base/sha256.hpp"

namespace inboxd::admin {
namespace {

constexpr std::string_view folder = "/ui/";

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "image/svg+xml";
}

const PageFile* find(std::string_view path) {
  if (path != "/" && !path.starts_with(folder)) return nullptr;
  const std::string_view name = path == "/" ? "index.html" : path.substr(folder.size());
  const auto* const end = page_files + page_file_count;
  const auto* const found = std::find_if(page_files, end, [&](const PageFile& file) { return file.name == name; });
  return found == end ? nullptr : found;
}

}  // namespace

std::optional<HttpResponse> page_response(const HttpRequest& request) {
  const PageFile* const file = find(request.path);
  if (file == nullptr) return std::nullopt;
  const std::string tag = "\"" + base::sha256_hex(file->text).substr(0, 20) + "\"";
  HttpResponse out{200, "", std::string{type_of(file->name)}};
  out.is_page = true;
  out.headers.emplace_back("ETag", tag);
  const std::string* const known = request.header("if-none-match");
  if (known != nullptr && *known == tag) {
    out.status = 304;
  } else {
    out.body = file->text;
  }
  return out;
}

}  // namespace inboxd::admin
