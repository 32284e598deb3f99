#include "config/database_url.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace inboxd::config {
namespace {

constexpr const char* wanted =
    "neither a URL such as postgresql://user@host:5432/database nor key=value pairs such as "
    "'host=localhost dbname=app'";
constexpr const char* not_encoded =
    "unexpected '@', or '/' before '@'; write %40 for @ and %2F for / in user, password and database name, or use "
    "database.password";
constexpr const char* not_hexadecimal =
    "the password in the URL has a '%' without two hexadecimal digits after it; write %25 for %";
constexpr const char* two_passwords = "the URL holds two passwords; remove both and use database.password";

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// nullopt if a `%` is not followed by two hexadecimal digits, or encodes NUL: libpq refuses both.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

/// Removes the password of `user:password@` from `url`; `begin` follows the scheme. Like libpq: an `@` counts only
/// before the first slash.
base::Result<std::optional<std::string>> take_from_user(std::string& url, std::size_t begin) {
  std::optional<std::string> password;
  const std::size_t at = url.find_first_of("@/", begin);
  if (at == std::string::npos || url[at] != '@') return password;
  const std::size_t colon = url.find(':', begin);
  if (colon > at) return password;
  password = percent_decoded(std::string_view{url}.substr(colon + 1, at - colon - 1));
  if (!password) return base::Problem{not_hexadecimal};
  url.erase(colon, at - colon);
  return password;
}

/// Whether there is an `@` that libpq does not expect. An earlier `@` or `/` was then part of a password, and libpq
/// would take the rest of the password for host, port and database.
bool has_stray_at(std::string_view url, std::size_t begin) {
  std::string_view place = url.substr(begin, url.find('?', begin) - begin);
  const std::size_t user_end = place.find_first_of("@/");
  if (user_end != std::string_view::npos && place[user_end] == '@') place.remove_prefix(user_end + 1);
  return place.find('@') != std::string_view::npos;
}

/// Removes `password=…` from the query after `?`.
base::Result<std::optional<std::string>> take_from_query(std::string& url) {
  std::optional<std::string> password;
  const std::size_t question = url.find('?');
  if (question == std::string::npos) return password;
  std::string query;
  std::string_view left = std::string_view{url}.substr(question + 1);
  while (!left.empty()) {
    const std::size_t length = std::min(left.find('&'), left.size());
    const std::string_view pair = left.substr(0, length);
    left.remove_prefix(std::min(length + 1, left.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decoded(pair.substr(0, equals)) != "password") {
      query.append(query.empty() ? "?" : "&").append(pair);
      continue;
    }
    if (password) return base::Problem{two_passwords};
    password = percent_decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!password) return base::Problem{not_hexadecimal};
  }
  url = url.substr(0, question) + query;
  return password;
}

base::Result<SplitUrl> split_url(std::string url, std::size_t begin) {
  auto user = take_from_user(url, begin);
  if (!user) return user.problem();
  auto query = take_from_query(url);
  if (!query) return query.problem();
  if (user.value() && query.value()) return base::Problem{two_passwords};
  if (has_stray_at(url, begin)) return base::Problem{not_encoded};
  return SplitUrl{std::move(url), user.value() ? user.value() : query.value()};
}

/// A `name = 'value'` of a connection string; moves `at` past it.
struct Pair {
  std::string name;
  std::string value;
};
std::optional<Pair> next_pair(const std::string& text, std::size_t& at) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto skip_blanks = [&] { at = std::min(text.find_first_not_of(blanks, at), text.size()); };
  Pair pair;
  const std::size_t name_end = std::min(text.find_first_of(" \t\r\n=", at), text.size());
  pair.name = text.substr(at, name_end - at);
  at = name_end;
  skip_blanks();
  if (pair.name.empty() || at == text.size() || text[at] != '=') return std::nullopt;
  ++at;
  skip_blanks();
  const bool is_quoted = at < text.size() && text[at] == '\'';
  if (is_quoted) ++at;
  for (; at < text.size(); ++at) {
    if (is_quoted ? text[at] == '\'' : blanks.find(text[at]) != std::string_view::npos) break;
    if (text[at] == '\\' && ++at == text.size()) break;
    pair.value += text[at];
  }
  if (is_quoted && at++ == text.size()) return std::nullopt;
  skip_blanks();
  return pair;
}

base::Result<SplitUrl> split_pairs(const std::string& text) {
  SplitUrl out;
  std::size_t at = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  while (at < text.size()) {
    const std::size_t begin = at;
    const auto pair = next_pair(text, at);
    if (!pair) return base::Problem{wanted};
    if (pair->name != "password") {
      out.url.append(text, begin, at - begin);
      continue;
    }
    if (out.password) return base::Problem{two_passwords};
    out.password = pair->value;
  }
  while (out.url.ends_with(' ')) out.url.pop_back();
  return out;
}

}  // namespace

base::Result<SplitUrl> split_password(const std::string& url) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"}) {
    if (url.starts_with(scheme)) return split_url(url, scheme.size());
  }
  if (url.find('=') == std::string::npos || url.find("://") < url.find('=')) return base::Problem{wanted};
  return split_pairs(url);
}

namespace {

/// `value`: libpq takes some values for a connection string, with a password.
bool is_open_parameter(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 18> open{
      "channel_binding", "connect_timeout",    "dbname",  "gssencmode",  "host",           "hostaddr",
      "keepalives",      "load_balance_hosts", "port",    "sslcert",     "sslcrl",         "sslkey",
      "sslmode",         "sslnegotiation",     "sslrootcert", "tcp_user_timeout", "target_session_attrs", "user"};
  const bool may_be_several = value.find('=') != std::string_view::npos || value.find("://") != std::string_view::npos;
  return !may_be_several && std::ranges::find(open, name) != open.end();
}

using Hide = std::function<std::string(const std::string&)>;

std::string shown_query(const std::string& query, const Hide& hide) {
  std::string out;
  for (std::size_t begin = 0; begin < query.size();) {
    const std::size_t end = std::min(query.find('&', begin), query.size());
    const std::string pair = query.substr(begin, end - begin);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string value = pair.substr(std::min(equals + 1, pair.size()));
    if (const auto decoded = percent_decoded(value); decoded && *decoded != value) hide(*decoded);
    out += out.empty() ? "?" : "&";
    if (equals == pair.size()) {
      out += hide(pair);
    } else {
      const std::string name = pair.substr(0, equals);
      out += name + "=" + (is_open_parameter(name, value) ? value : hide(value));
    }
    begin = end + 1;
  }
  return out;
}

std::string shown_pairs(const std::string& text, const Hide& hide) {
  std::string out;
  std::size_t at = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  while (at < text.size()) {
    const std::size_t begin = at;
    const auto pair = next_pair(text, at);
    if (!pair) return out + hide(text.substr(begin));
    if (is_open_parameter(pair->name, pair->value)) {
      out.append(text, begin, at - begin);
    } else {
      out += pair->name + "=" + hide(pair->value) + (at < text.size() ? " " : "");
    }
  }
  return out;
}

}  // namespace

std::string shown_database_url(const std::string& url, const Hide& hide) {
  const auto split = split_password(url);
  if (!split) return hide(url);
  if (split.value().password) hide(*split.value().password);
  const std::string& rest = split.value().url;
  if (rest.find("://") > rest.find('=')) return shown_pairs(rest, hide);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  return rest.substr(0, question) + shown_query(rest.substr(std::min(question + 1, rest.size())), hide);
}

}  // namespace inboxd::config
