#include "config/secrets.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "config/database_url.hpp"

namespace inboxd::config {
namespace {

constexpr const char* forms = "{file: /path}, {credential: name} or {env: NAME}";

// Editors and `echo` add a newline at the end of a file.
std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

base::Result<Secret> from_file(const std::string& path, const Environment& environment) {
  auto bytes = environment.read_file(path);
  if (!bytes) return base::Problem{"the file " + path + " cannot be read: " + bytes.problem().message};
  return Secret{without_newline(std::move(bytes).value()), path};
}

base::Result<Secret> from_credential(const std::string& name, const Environment& environment) {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) {
    return base::Problem{"a credential is a plain file name, as after LoadCredential= in the unit"};
  }
  const auto folder = environment.variable("CREDENTIALS_DIRECTORY");
  if (!folder || folder->empty()) {
    return base::Problem{"the credential " + name + " needs $CREDENTIALS_DIRECTORY, which is not set; a unit gets it " +
                         "with LoadCredential=, a command at a terminal with systemd-run --pipe --wait -p " +
                         "LoadCredential=" + name + ":/etc/credstore/inboxd." + name +
                         " inboxd ..., one -p for each credential"};
  }
  return from_file(*folder + "/" + name, environment);
}

base::Result<Secret> from_variable(const std::string& name, const Environment& environment) {
  auto value = environment.variable(name);
  if (!value) return base::Problem{"the environment variable " + name + " is not set; set it"};
  return Secret{std::move(*value)};
}

base::Result<Secret> look_up(const std::string& form, const std::string& name, const Environment& environment) {
  if (form == "file") return from_file(environment.folder / name, environment);
  if (form == "credential") return from_credential(name, environment);
  return from_variable(name, environment);
}

bool is_form(const std::string& name) { return name == "file" || name == "credential" || name == "env"; }

std::optional<Secret> checked(base::Result<Secret> secret, Place place, const std::string& key, Findings& findings) {
  if (!secret) {
    findings.problem(place, key, secret.problem().message);
  } else if (secret.value().empty()) {
    findings.problem(place, key, "the secret is empty; fill it in, or remove the key");
  } else if (secret.value().reveal().find('\0') != std::string::npos) {
    findings.problem(place, key, "the secret holds a NUL byte; remove it");
  } else {
    return std::move(secret).value();
  }
  return std::nullopt;
}

std::optional<Secret> read_literal(const Node& node, const std::string& key, const Environment& environment,
                                   Findings& findings) {
  auto text = expand(node.text, environment);
  auto value = checked(text ? base::Result<Secret>{Secret{std::move(text).value()}} : text.problem(), node.place, key,
                       findings);
  if (value && node.text.find("${") == std::string::npos) {
    findings.warning(node.place, key, std::string{"the secret is in the file itself; use "} + forms);
  }
  return value;
}

}  // namespace

std::string Secret::now() const {
  if (file_.empty()) return text_;
  auto bytes = read_file(file_, largest_secret);
  std::string text = bytes ? without_newline(std::move(bytes).value()) : std::string{};
  if (holds_ == File::url) {
    auto split = split_password(text);
    text = split ? std::move(split).value().password.value_or("") : std::string{};
  }
  return text.empty() || text.find('\0') != std::string::npos ? text_ : text;
}

std::map<std::string, std::string> Kafka::properties_now() const {
  auto out = properties;
  for (const auto& [name, secret] : secrets) out[name] = secret.now();
  return out;
}

bool is_secret_form(const Node& node) {
  return node.kind == Node::Kind::map && node.entries.size() == 1 && is_form(node.entries.front().key) &&
         node.entries.front().value.kind == Node::Kind::scalar;
}

bool is_secret_property(std::string_view name) {
  const std::string text = base::lower(name);
  constexpr std::array parts{"password", "passphrase", "secret", "jaas", "oauthbearer.config"};
  for (const char* const part : parts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return text.ends_with("key.pem");
}

bool is_secret_setting(std::string_view name) {
  std::string text = base::lower(name);
  std::replace(text.begin(), text.end(), '-', '_');
  constexpr std::array ends{"password",    "passphrase",         "secret",  "token",        "api_key", "private_key",
                            "jaas.config", "oauthbearer.config", "key.pem", "authorization"};
  for (const char* const end : ends) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

bool may_be_secret(std::string_view name) {
  std::string text = base::lower(name);
  std::replace(text.begin(), text.end(), '-', '_');
  constexpr std::array within{"authorization", "credential", "apikey", "access_key", "accesskey", "dsn",   "passwd",
                              "password",      "passphrase", "secret", "token",      "api_key",   "cookie"};
  constexpr std::array ends{"_key", "_pass", "_pwd", "_sk"};
  return is_secret_setting(name) ||
         std::ranges::any_of(within, [&](const char* word) { return text.find(word) != std::string::npos; }) ||
         std::ranges::any_of(ends, [&](const char* end) { return text.ends_with(end); });
}

// Messages repeat no keys or values of a wrong form: `{hunter2}` is a map with a secret as its key.
std::optional<Secret> read_secret(const Node& node, const std::string& key, const Environment& environment,
                                  Findings& findings) {
  if (node.kind == Node::Kind::refused) return std::nullopt;
  if (!environment.offline && environment.leaves_out(key)) return Secret{};  // offline, the file is checked
  if (node.kind == Node::Kind::scalar) return read_literal(node, key, environment, findings);
  if (!is_secret_form(node)) {
    findings.problem(node.place, key, std::string{"not a secret; write "} + forms);
    return std::nullopt;
  }
  const Entry& entry = node.entries.front();
  auto name = expand(entry.value.text, environment);
  if (!name) {
    findings.problem(entry.value.place, key, name.problem().message);
    return std::nullopt;
  }
  if (environment.offline) return Secret{};
  return checked(look_up(entry.key, name.value(), environment), entry.value.place, key, findings);
}

std::string without_secrets(std::string_view text) {
  std::string out{text};
  if (const std::size_t scheme = out.find("://"); scheme != std::string::npos) {
    const std::size_t begin = scheme + 3;
    const std::string authority = out.substr(begin, out.find_first_of("/ ", begin) - begin);
    const std::size_t colon = authority.find(':');
    const std::size_t at = authority.rfind('@');
    if (colon != std::string::npos && at != std::string::npos && colon < at) {
      out.replace(begin + colon + 1, at - colon - 1, hidden);
    }
  }
  constexpr std::array parameters{"password=", "client_secret=", "scram_client_key=", "scram_server_key=", "token="};
  for (const std::string_view parameter : parameters) {
    std::size_t at = 0;
    while ((at = out.find(parameter, at)) != std::string::npos) {
      at += parameter.size();
      const bool is_quoted = at < out.size() && out[at] == '\'';
      const std::size_t end = is_quoted ? out.find('\'', at + 1) : out.find_first_of("& \t\n", at);
      out.replace(at, (end == std::string::npos ? out.size() : end + (is_quoted ? 1 : 0)) - at, hidden);
    }
  }
  return out;
}

}  // namespace inboxd::config
