#include "inbox/url_options.hpp"

#include <libpq-fe.h>

namespace inboxd::inbox {
namespace {

bool read(PQconninfoOption* options, const std::function<void(std::string_view, std::string_view)>& visit) {
  if (options == nullptr) return false;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) visit(std::string_view{option->keyword}, std::string_view{option->val});
  }
  PQconninfoFree(options);
  return true;
}

}  // namespace

bool read_options(const std::string& url, const std::function<void(std::string_view, std::string_view)>& visit) {
  return read(PQconninfoParse(url.c_str(), nullptr), visit);
}

std::map<std::string, std::string> effective_options(const std::string& url) {
  std::map<std::string, std::string> out;
  const auto note = [&](std::string_view name, std::string_view value) { out[std::string{name}] = value; };
  read(PQconndefaults(), note);
  read_options(url, note);
  return out;
}

}  // namespace inboxd::inbox
