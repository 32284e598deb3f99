#include "config/exposure.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"
#include "config/database_url.hpp"
#include "config/secrets.hpp"
#include "config/units.hpp"

namespace inboxd::config {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// A shorter text is part of many words.
constexpr std::size_t min_hidden = 4;
/// A shorter text is searched for as a whole word only, and not if it is a number.
constexpr std::size_t min_part = 8;
/// A longer number may be a token.
constexpr std::size_t max_digits = 16;
/// The program's name is in commands that remedies recommend.
constexpr std::string_view program_name = "inboxd";

struct ShippedSetting {
  std::string_view plugin;
  std::string_view name;
  Exposure exposure;
};

/// The settings of shipped handlers of which others see more than numbers, or less.
constexpr std::array shipped_settings{
    ShippedSetting{"exec", "command", Exposure::program},
    ShippedSetting{"exec", "environment", Exposure::nothing},
    ShippedSetting{"exec", "folder", Exposure::whole},
    ShippedSetting{"exec", "mode", Exposure::whole},
    ShippedSetting{"exec", "user", Exposure::whole},
    ShippedSetting{"http", "ca", Exposure::whole},
    ShippedSetting{"http", "certificate", Exposure::whole},
    ShippedSetting{"http", "certificate_key", Exposure::whole},
    ShippedSetting{"http", "headers", Exposure::nothing},
    ShippedSetting{"http", "retry_after", Exposure::whole},
    ShippedSetting{"http", "style", Exposure::whole},
    ShippedSetting{"http", "unix_socket", Exposure::whole},
    ShippedSetting{"http", "url", Exposure::addresses},
    ShippedSetting{"kafka", "headers", Exposure::whole},
    ShippedSetting{"kafka", "properties", Exposure::properties},
    ShippedSetting{"kafka", "topic", Exposure::whole},
    ShippedSetting{"kafka", "topics_allowed", Exposure::whole},
    ShippedSetting{"log", "level", Exposure::whole},
    ShippedSetting{"sql", "body", Exposure::whole},
    ShippedSetting{"sql", "function", Exposure::whole},
    ShippedSetting{"sql", "permanent", Exposure::whole},
    ShippedSetting{"sql", "statement", Exposure::statement},
};

/// librdkafka's properties whose values are choices, names and paths of files.
constexpr std::array<std::string_view, 39> open_properties{
    "acks",
    "broker.address.family",
    "broker.version.fallback",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.codec",
    "compression.type",
    "debug",
    "group.protocol",
    "group.remote.assignor",
    "https.ca.location",
    "isolation.level",
    "partition.assignment.strategy",
    "partitioner",
    "queuing.strategy",
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.token.file",
    "sasl.oauthbearer.token.lifetime.ms",
    "security.protocol",
    "ssl.ca.certificate.stores",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.cipher.suites",
    "ssl.crl.location",
    "ssl.curves.list",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.sigalgs.list",
    "topic.acks",
    "topic.compression.codec",
    "topic.partitioner",
};
constexpr std::array<std::string_view, 3> address_properties{"bootstrap.servers", "metadata.broker.list",
                                                             "sasl.oauthbearer.token.endpoint.url"};

/// Whether values of that name are hidden even if they are numbers.
bool hides_numbers(std::string_view name) {
  constexpr std::array<std::string_view, 5> maps{"headers", "environment", "env", "args", "arguments"};
  return may_be_secret(name) || std::ranges::find(maps, base::lower(name)) != maps.end();
}

bool is_quantity(const std::string& text) {
  if (text == "true" || text == "false" || text == "null") return true;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (is_number) return text.size() <= max_digits;
  return parse_duration(text) || parse_size(text) || parse_time(text);
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// `kafka-1`, `10.0.0.1:9092`, `[::1]:9092`.
bool is_host(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = std::min(text.find(']'), text.size());
    port = text.substr(std::min(end + 1, text.size()));
    text = text.substr(1, end - 1);
    if (text.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    port = text.substr(colon);
    text = text.substr(0, colon);
    const bool is_name = std::ranges::all_of(text, [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
    if (!is_name) return false;
  }
  if (!port.empty() && (port.front() != ':' || port.size() > 6)) return false;
  return !text.empty() && port.find_first_not_of(":0123456789") == std::string_view::npos;
}

/// The length of `https://`; 0: none.
std::size_t scheme_length(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return 0;
  const bool is_scheme = std::ranges::all_of(text.substr(0, end), is_word_character);
  return is_scheme ? end + 3 : 0;
}

Texts pieces_of(const std::string& text, std::string_view separators) {
  Texts out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool are_brokers(const std::string& text) {
  return std::ranges::all_of(pieces_of(text, ","), [](std::string_view broker) {
    broker.remove_prefix(std::min(broker.find_first_not_of(' '), broker.size()));
    broker.remove_suffix(broker.size() - std::min(broker.find_last_not_of(' ') + 1, broker.size()));
    return is_host(broker.substr(scheme_length(broker)));
  });
}

}  // namespace

Exposure exposure_of_property(std::string_view name) {
  const std::string lower = base::lower(name);
  if (std::ranges::find(open_properties, lower) != open_properties.end()) return Exposure::whole;
  if (std::ranges::find(address_properties, lower) != address_properties.end()) return Exposure::addresses;
  return is_secret_property(name) || may_be_secret(name) ? Exposure::nothing : Exposure::numbers;
}

Exposure exposure_of_setting(std::string_view plugin, std::string_view name) {
  for (const ShippedSetting& each : shipped_settings) {
    if (each.plugin == plugin && each.name == name) return each.exposure;
  }
  return hides_numbers(name) ? Exposure::nothing : Exposure::numbers;
}

std::string Hider::hide(const std::string& text) {
  if (text.empty()) return text;
  hidden_.push_back(text);
  // A message may quote the token of `Bearer TOKEN`, or a part of a URL.
  for (std::string& piece : pieces_of(text, " \t\n=&;,/?#@:'\"")) {
    if (piece.size() >= min_part && piece != text) hidden_.push_back(std::move(piece));
  }
  return std::string{hidden};
}

namespace {

/// Whether more than `'` begins and ends the literals of a statement: `$$`, an escape, or an apostrophe in a comment or
/// in a quoted name.
bool has_uncertain_quotes(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  return has("$") || has("\\") || has("--") || has("/*") || (has("\"") && has("'"));
}

}  // namespace

/// A statement's names are words of logs and metrics, too: outside its literals only other words are searched for. If
/// it is uncertain where literals are, all words are.
std::string Hider::statement(const std::string& text) {
  hidden_.push_back(text);
  const bool may_be_literal = has_uncertain_quotes(text);
  const Texts parts = pieces_of(text, "'");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 1) {
      hide(parts[i]);
      continue;
    }
    for (std::string& word : pieces_of(parts[i], " \t\n=&;,/?#@:\"$()")) {
      const bool is_name = std::ranges::all_of(word, [](char c) { return is_word_character(c) || c == '.'; }) &&
                           !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
      if (word.size() >= min_part && (may_be_literal || !is_name)) hidden_.push_back(std::move(word));
    }
  }
  return std::string{hidden};
}

/// Only users, paths and queries can be secrets. After an `@` in the path, a `/` may have been part of a password.
std::string Hider::addresses(const std::string& text) {
  if (are_brokers(text)) return text;
  const std::size_t begin = scheme_length(text);
  const std::size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  const std::string authority = text.substr(begin, end - begin);
  const std::string rest = text.substr(end);
  const std::size_t at = authority.rfind('@');
  const std::string host = at == std::string::npos ? authority : authority.substr(at + 1);
  const std::string scheme = text.substr(0, begin);
  if (begin == 0 || !is_host(host) || rest.find('@') != std::string::npos) return scheme + hide(text.substr(begin));
  std::string user;
  if (at != std::string::npos) {
    const std::string both = authority.substr(0, at);
    user = hide(both) + "@";
    for (const std::string& each : pieces_of(both, ":")) hide(each);
  }
  if (rest.empty() || rest == "/") return scheme + user + host + rest;
  const std::string query = rest.substr(std::min(rest.find_first_of("?#"), rest.size()));
  for (const std::string& pair : pieces_of(query, "?#&")) hide(pair.substr(pair.find('=') + 1));
  return scheme + user + host + "/" + hide(rest);
}

std::string Hider::scalar(Exposure exposure, const std::string& text) {
  switch (exposure) {
    case Exposure::whole:  // a text of several lines is no name: a key in place of its file
      if (text.find('\n') != std::string::npos) return hide(text);
      break;
    case Exposure::addresses:
      return addresses(text);
    case Exposure::statement:
      return statement(text);
    case Exposure::database:
      return shown_database_url(text, [this](const std::string& part) { return hide(part); });
    case Exposure::numbers:
      if (!is_quantity(text)) return hide(text);
      break;
    case Exposure::nothing:
    case Exposure::program:
    case Exposure::properties:
      return hide(text);
  }
  shown_.push_back(text);
  return text;
}

namespace {

/// The exposure of a member of a list or map. A name is given in a map only.
Exposure exposure_within(Exposure outer, const std::string* name, std::size_t index) {
  switch (outer) {
    case Exposure::program:
      return name == nullptr && index == 0 ? Exposure::whole : Exposure::nothing;
    case Exposure::properties:
      return name == nullptr ? Exposure::nothing : exposure_of_property(*name);
    case Exposure::whole:
      return name == nullptr ? Exposure::whole : Exposure::nothing;
    case Exposure::numbers:
      return name != nullptr && hides_numbers(*name) ? Exposure::nothing : Exposure::numbers;
    default:
      return outer;
  }
}

}  // namespace

std::string Hider::entry(Exposure exposure, const std::string& text, const std::string& key) {
  if (secrets_.contains(key)) return hide(text);
  auto whole = OrderedJson::parse(text, nullptr, false);
  if (!whole.is_structured()) return scalar(exposure, text);
  const auto inner = [this](auto& self, OrderedJson& value, Exposure outer, const std::string& place) -> void {
    const bool is_map = value.is_object();
    std::size_t index = 0;
    for (auto& [name, member] : value.items()) {
      const std::string own = is_map ? place + "." + name : place + "[" + std::to_string(index) + "]";
      const Exposure its =
          secrets_.contains(own) ? Exposure::nothing : exposure_within(outer, is_map ? &name : nullptr, index);
      ++index;
      if (member.is_structured()) {
        self(self, member, its, own);
        continue;
      }
      const std::string before = member.is_string() ? member.template get<std::string>() : member.dump();
      if (std::string after = scalar(its, before); after != before) member = std::move(after);
    }
  };
  const OrderedJson before = whole;
  inner(inner, whole, exposure, key);
  return whole == before ? text : whole.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Value Hider::value(const Description& about, Value value, const std::string& key) {
  if (const auto* const secret = std::get_if<Secret>(&value)) {
    hide(secret->reveal());
  } else if (auto* const text = std::get_if<std::string>(&value)) {
    if (!text->empty()) *text = secrets_.contains(key) ? hide(*text) : scalar(about.exposure, *text);
  } else if (auto* const texts = std::get_if<Texts>(&value)) {
    for (std::size_t i = 0; i < texts->size(); ++i) {
      const bool is_secret =
          about.type == Type::secrets || secrets_.contains(key + "[" + std::to_string(i) + "]");
      (*texts)[i] = is_secret ? hide((*texts)[i]) : scalar(about.exposure, (*texts)[i]);
    }
  }
  return value;
}

Texts Hider::hidden_texts() const {
  Texts out;
  const auto add = [&](const std::string& text) {
    if (text.size() < min_hidden || (text.size() < min_part && is_quantity(text)) || text == program_name) return;
    if (std::ranges::find(shown_, text) == shown_.end()) out.push_back(text);
  };
  for (const std::string& text : hidden_) add(text);
  for (const auto& [key, secret] : secrets_) add(secret.reveal());
  std::ranges::sort(out, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string without_texts(std::string text, const Texts& hides) {
  for (const std::string& each : hides) {
    for (auto at = text.find(each); at != std::string::npos; at = text.find(each, at)) {
      const std::size_t end = at + each.size();
      const bool is_part =
          (at > 0 && is_word_character(text[at - 1])) || (end < text.size() && is_word_character(text[end]));
      if (is_part && each.size() < min_part) {
        at = end;
        continue;
      }
      text.replace(at, each.size(), hidden);
      at += hidden.size();
    }
  }
  return text;
}

}  // namespace inboxd::config
