#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "admin/http_message.hpp"

namespace inboxd::admin {

/// A file of the operators' page, compiled in from page/.
struct PageFile {
  std::string_view name;  ///< `screens/overview.js`
  std::string_view text;
};
extern const PageFile page_files[];
extern const std::size_t page_file_count;

/// The answer to a request for `/` or `/ui/NAME`; nullopt: another path. The files are the same for everybody and have
/// no data, so they need no token. Pure.
std::optional<HttpResponse> page_response(const HttpRequest& request);

}  // namespace inboxd::admin
