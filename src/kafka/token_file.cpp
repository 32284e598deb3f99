#include "token_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

namespace inboxd::kafka {
namespace {

constexpr std::size_t max_token = 64 << 10;
constexpr std::int64_t default_lifetime_ms = 900'000, min_lifetime_ms = 1'000, max_lifetime_ms = 86'400'000;
constexpr double max_end = 4e12;  ///< seconds since 1970
/// The client's property that holds the path and, in a second line, the lifetime. The library passes its text on.
constexpr const char* slot = "sasl.oauthbearer.config";

std::string utc(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&seconds, &parts));
  return text.data();
}

std::string from_base64url(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = digits.find(c);
    if (digit == std::string_view::npos) return {};
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    out += static_cast<char>(bits >> (count -= 8));
  }
  return out;
}

/// The claims of a JSON web token, signed or not; discarded if it is another token.
nlohmann::json claims_of(std::string_view token) {
  const auto first = token.find('.'), second = token.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return nlohmann::json::value_t::discarded;
  return nlohmann::json::parse(from_base64url(token.substr(first + 1, second - first - 1)), nullptr, false);
}

/// As the library calls it.
void refresh(rd_kafka_t* client, const char* config, void*) {
  const std::string_view both = config;
  const auto line = both.find('\n');
  std::int64_t lifetime_ms = default_lifetime_ms;
  std::from_chars(both.data() + line + 1, both.data() + both.size(), lifetime_ms);
  const auto read = read_token(std::string{both.substr(0, line)}, lifetime_ms);
  const auto* const token = std::get_if<Token>(&read);
  std::array<char, 512> ignored{};  // it may quote the token
  if (token != nullptr &&
      rd_kafka_oauthbearer_set_token(client, token->text.c_str(), token->end_ms, token->principal.c_str(), nullptr, 0,
                                     ignored.data(), ignored.size()) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  const std::string problem = token == nullptr ? std::get<std::string>(read) : "librdkafka refuses the file's token";
  rd_kafka_oauthbearer_set_token_failure(client, problem.c_str());  // the library asks again after 10 s
}

std::string slot_of(const rd_kafka_conf_t* conf) {
  std::array<char, 8'192> text{};
  std::size_t size = text.size();
  return rd_kafka_conf_get(conf, slot, text.data(), &size) == RD_KAFKA_CONF_OK ? text.data() : std::string{};
}

bool is_ours(const std::string& config) { return config.starts_with('/') && config.find('\n') != std::string::npos; }

}  // namespace

std::variant<Token, std::string> read_token(const std::string& path, std::int64_t lifetime_ms) {
  const std::string remedy = "; let the program that renews the token write the file " + path;
  const std::string named = "the file of " + std::string{token_file};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "re"), std::fclose};
  struct stat about {};
  Token out;
  out.text.resize(max_token + 1);
  if (file) out.text.resize(std::fread(out.text.data(), 1, out.text.size(), file.get()));
  if (!file || std::ferror(file.get()) != 0 || ::fstat(::fileno(file.get()), &about) != 0) {
    return named + " cannot be read: " + std::strerror(errno) + remedy;
  }
  while (!out.text.empty() && (out.text.back() == '\n' || out.text.back() == '\r')) out.text.pop_back();
  if (out.text.empty()) return named + " is empty" + remedy;
  const auto is_foreign = [](char c) { return c <= ' ' || c > '~'; };
  if (out.text.size() > max_token || std::any_of(out.text.begin(), out.text.end(), is_foreign)) {
    return named + " holds more than a single token" + remedy;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_ms = std::chrono::floor<std::chrono::milliseconds>(now).count();
  const nlohmann::json claims = claims_of(out.text);
  const bool has_end = claims.is_object() && claims.contains("exp") && claims["exp"].is_number();
  if (claims.is_object() && claims.contains("sub") && claims["sub"].is_string()) out.principal = claims["sub"];
  const std::int64_t written_ms = about.st_mtim.tv_sec * 1'000 + about.st_mtim.tv_nsec / 1'000'000;
  out.end_ms = has_end ? static_cast<std::int64_t>(std::clamp(claims["exp"].get<double>(), 0.0, max_end) * 1'000)
                       : written_ms + lifetime_ms;
  if (out.end_ms > now_ms) return out;
  if (has_end) return "the token in " + named + " expired at " + utc(out.end_ms) + remedy;
  return "the token in " + named + " was written at " + utc(written_ms) + ", longer ago than " + token_lifetime +
         remedy;
}

bool is_token_property(std::string_view name) { return name == token_file || name == token_lifetime; }

std::optional<std::string> refusal_of_token_property(std::string_view name, const std::string& value) {
  if (name == token_file) {
    if (value.starts_with('/') && value.size() < 4'096 && value.find('\n') == std::string::npos) return std::nullopt;
    return "it takes the path of the file itself, such as /run/secrets/kafka-token";
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = error == std::errc{} && end == value.data() + value.size();
  if (is_number && number >= min_lifetime_ms && number <= max_lifetime_ms) return std::nullopt;
  return "it takes " + std::to_string(min_lifetime_ms) + " .. " + std::to_string(max_lifetime_ms);
}

std::optional<std::string> set_token_property(rd_kafka_conf_t* conf, const std::string& name,
                                              const std::string& value) {
  if (auto refusal = refusal_of_token_property(name, value)) return refusal;
  const std::string config = slot_of(conf);
  std::string path = value, lifetime = std::to_string(default_lifetime_ms);
  if (name == token_file && !config.empty()) return std::string{"remove "} + slot + ", or this property";
  if (name == token_lifetime) {  // properties come in alphabetical order
    if (!is_ours(config)) return std::string{"it needs "} + token_file;
    path = config.substr(0, config.find('\n'));
    lifetime = value;
  }
  std::array<char, 512> error{};
  if (rd_kafka_conf_set(conf, slot, (path + '\n' + lifetime).c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK) {
    return error.data();
  }
  rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, refresh);
  rd_kafka_conf_enable_sasl_queue(conf, 1);
  return std::nullopt;
}

void start_tokens(rd_kafka_t* client) {
  if (!is_ours(slot_of(rd_kafka_conf(client)))) return;
  rd_kafka_error_t* const error = rd_kafka_sasl_background_callbacks_enable(client);
  if (error != nullptr) rd_kafka_error_destroy(error);
}

void renew_token(rd_kafka_t* client) {
  const std::string config = slot_of(rd_kafka_conf(client));
  if (is_ours(config)) refresh(client, config.c_str(), nullptr);
}

}  // namespace inboxd::kafka
