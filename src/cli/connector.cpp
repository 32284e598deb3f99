#include "cli/connector.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "config/database_url.hpp"

namespace inboxd::cli {
namespace {

using nlohmann::json;

constexpr const char* debezium_class = "io.debezium.connector.jdbc.JdbcSinkConnector";
constexpr std::array<std::string_view, 3> known_classes{
    "io.confluent.connect.jdbc.JdbcSinkConnector", "io.aiven.connect.jdbc.JdbcSinkConnector", debezium_class};

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return std::string{text.substr(0, text.find_last_not_of(blanks) + 1)};
}

/// Percent-encodes a user's name for a URL.
std::string encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_mark = c == '-' || c == '.' || c == '_' || c == '~';
    const bool is_plain = is_mark || std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_plain) out += c;
    else out.append("%").append(base::hex(std::string_view{&c, 1}));
  }
  return out;
}

/// libpq's parameter for one of the JDBC driver; empty: none.
std::pair<std::string, std::string> libpq_parameter(const std::string& name, const std::string& value) {
  if (name == "ssl") return {"sslmode", value == "false" ? "disable" : "verify-full"};
  if (name == "connectTimeout") return {"connect_timeout", value};
  if (name == "targetServerType" && value == "primary") return {"target_session_attrs", "read-write"};
  if (name == "sslmode" || name == "sslrootcert" || name == "sslcert") return {name, value};
  return {};
}

}  // namespace

base::Result<Connector> Connector::read(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return base::Problem{"the file is not a JSON object; pass the connector's configuration, "
                                                  "such as the answer of GET /connectors/NAME"};
  Connector out;
  const bool is_wrapped = document.contains("config") && document.at("config").is_object();
  const json& settings = is_wrapped ? document.at("config") : document;
  for (const auto& [key, value] : settings.items()) {
    if (value.is_structured()) return base::Problem{"setting " + base::json_quote(base::shorten(key, 100)) +
                                                    " is not a text, number or boolean"};
    if (value.is_null()) continue;
    const std::string setting = trimmed(text_of(value));
    const bool has_controls = std::any_of(setting.begin(), setting.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    });
    if (has_controls) {
      return base::Problem{"setting " + base::json_quote(base::shorten(key, 100)) + " has control characters"};
    }
    out.settings_[key] = setting;
  }
  out.name_ = out.take("name").value_or("");
  if (is_wrapped && document.contains("name")) out.name_ = text_of(document.at("name"));
  out.class_name_ = out.take("connector.class").value_or("");
  if (out.class_name_ == "JdbcSinkConnector" || out.class_name_ == "JdbcSink") out.class_name_ = known_classes[0];
  if (std::find(known_classes.begin(), known_classes.end(), out.class_name_) != known_classes.end()) return out;
  const std::string remedy = "; pass the configuration of a JDBC sink connector: " +
                             base::joined(std::vector<std::string>{known_classes.begin(), known_classes.end()});
  if (out.class_name_.empty()) return base::Problem{"there is no connector.class" + remedy};
  return base::Problem{"connector.class " + base::json_quote(base::shorten(out.class_name_, 100)) + " is not known" +
                       remedy};
}

bool Connector::is_debezium() const { return class_name_ == debezium_class; }

std::optional<std::string> Connector::take(const std::string& key) {
  taken_.insert(key);
  const auto found = settings_.find(key);
  if (found == settings_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<std::string> Connector::take(const std::string& key, const std::string& debezium_key) {
  auto own = take(debezium_key), usual = take(key);
  return is_debezium() && own ? own : usual ? usual : own;
}

std::vector<std::string> Connector::take_list(const std::string& key, const std::string& debezium_key) {
  return items_of(take(key, debezium_key).value_or(""));
}

std::vector<std::string> Connector::take_all(const std::string& prefix) {
  std::vector<std::string> out;
  for (const auto& [key, value] : settings_) {
    if (key.starts_with(prefix) && taken_.insert(key).second) out.push_back(key);
  }
  return out;
}

std::vector<std::string> Connector::left() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : settings_) {
    if (!taken_.contains(key) && !value.empty()) out.push_back(key);
  }
  return out;
}

std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (auto item = trimmed(list.substr(0, comma)); !item.empty()) out.push_back(std::move(item));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return out;
}

base::Result<JdbcUrl> read_jdbc_url(const std::string& text, const std::string& user) {
  constexpr std::string_view prefix = "jdbc:postgresql:";
  if (!text.starts_with(prefix)) {
    return base::Problem{"connection.url does not begin with jdbc:postgresql: inboxd writes to PostgreSQL only; for "
                         "the URL of another database, or a reference to a secret, pass --database URL"};
  }
  const auto question = text.find('?');
  std::string place = text.substr(prefix.size(), question - prefix.size());
  if (!place.starts_with("//")) place = "///" + place;
  JdbcUrl out;
  std::string url_user = user, parameters;
  std::string_view rest{text};
  rest.remove_prefix(question == std::string::npos ? text.size() : question + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const auto equals = std::min(item.find('='), item.size());
    const std::string name{item.substr(0, equals)};
    const std::string value{item.substr(std::min(equals + 1, item.size()))};
    const auto [libpq_name, libpq_value] = libpq_parameter(name, value);
    if (name == "user") url_user = url_user.empty() ? value : url_user;
    else if (name == "password") out.had_password = true;
    else if (name == "currentSchema") out.search_path = value;
    else if (libpq_name.empty()) out.unknown.push_back(name);
    else parameters.append(parameters.empty() ? "?" : "&").append(libpq_name).append("=").append(libpq_value);
  }
  const std::string login = url_user.empty() ? "" : (url_user == user ? encoded(user) : url_user) + "@";
  if (!login.empty() && place.find('@') != std::string::npos) {
    return base::Problem{"connection.url names a user before its host, and there is another user; keep one"};
  }
  const auto split = config::split_password("postgresql://" + login + place.substr(2) + parameters);
  if (!split) return split.problem();
  out.url = split.value().url;
  out.had_password = out.had_password || split.value().password.has_value();
  return out;
}

}  // namespace inboxd::cli
