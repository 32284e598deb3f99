#include "config/environment.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.hpp"

namespace inboxd::config {
namespace {

constexpr const char* variable_form = "write ${NAME}, ${NAME:-default}, or $$ for a dollar sign";

bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

bool is_name(std::string_view name) {
  if (name.empty() || !begins_name(name.front())) return false;
  for (const char c : name) {
    if (!begins_name(c) && (c < '0' || c > '9')) return false;
  }
  return true;
}

/// `reference` is `NAME` or `NAME:-default`. The message omits an invalid name: it may be a secret.
base::Result<std::string> look_up(std::string_view reference, const Environment& environment) {
  const std::size_t separator = reference.find(":-");
  const std::string name{reference.substr(0, separator)};
  if (!is_name(name)) return base::Problem{std::string{"'${' is not followed by a variable's name; "} + variable_form};
  const auto value = environment.variable(name);
  if (separator != std::string_view::npos && (!value || value->empty())) {
    return std::string{reference.substr(separator + 2)};
  }
  if (!value) {
    return base::Problem{"the environment variable " + name + " is not set; set it, or write ${" + name + ":-default}"};
  }
  if (!base::is_database_text(*value)) {
    return base::Problem{"the environment variable " + name + " is not UTF-8 text; correct it"};
  }
  return *value;
}

}  // namespace

base::Result<std::string> expand(const std::string& text, const Environment& environment) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t dollar = std::min(text.find('$', at), text.size());
    out.append(text, at, dollar - at);
    if (dollar == text.size()) break;
    const char next = dollar + 1 < text.size() ? text[dollar + 1] : '\0';
    at = dollar + 2;
    if (next == '$') {
      out += '$';
    } else if (next == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) return base::Problem{std::string{"'${' has no '}'; "} + variable_form};
      auto value = look_up(std::string_view{text}.substr(at, end - at), environment);
      if (!value) return value.problem();
      out += value.value();
      at = end + 1;
    } else if (begins_name(next)) {
      return base::Problem{std::string{"'$' before a name; "} + variable_form};
    } else {
      out += '$';
      at = dollar + 1;
    }
  }
  return out;
}

base::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file{std::fopen(path.c_str(), "re"), close};
  if (!file) return base::Problem{std::strerror(errno)};
  std::string bytes(limit + 1, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return base::Problem{std::strerror(errno)};
  if (bytes.size() > limit) return base::Problem{"larger than " + std::to_string(limit) + " bytes"};
  return bytes;
}

Environment process_environment(bool offline, KafkaLibrary kafka_library) {
  const auto variable = [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
  return {variable, [](const std::string& path) { return read_file(path, largest_secret); }, offline,
          std::move(kafka_library), {}};
}

}  // namespace inboxd::config
