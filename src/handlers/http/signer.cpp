#include "signer.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <inboxd/handler.hpp>
#include <nlohmann/json.hpp>

#include "../shared/encoding.hpp"

namespace http_handler {
namespace {

constexpr std::string_view prefix = "whsec_";
constexpr std::size_t min_key = 24, max_key = 64;  // bytes, by the specification

std::string key_of(std::string_view secret) {
  const auto key =
      secret.substr(0, prefix.size()) == prefix ? handlers::from_base64(secret.substr(prefix.size())) : std::nullopt;
  if (!key || key->size() < min_key || key->size() > max_key) {
    throw inboxd::SettingsError{
        "setting 'signing_secret' is no secret of Standard Webhooks; make a secret of 24 to 64 bytes with: echo "
        "whsec_$(openssl rand -base64 32)"};
  }
  return *key;
}

}  // namespace

Signer::Signer(const std::string& setting) {
  if (setting.empty()) return;
  const auto list = setting.front() == '[' ? nlohmann::json::parse(setting, nullptr, false) : nlohmann::json{};
  if (!list.is_array()) {
    keys_.push_back(key_of(setting));
    return;
  }
  if (list.empty()) throw inboxd::SettingsError{"setting 'signing_secret' is an empty list; remove it, or fill it in"};
  for (const auto& secret : list) {
    const std::string text = secret.is_string() ? secret.get<std::string>() : "?";
    if (!text.empty()) keys_.push_back(key_of(text));  // empty: a check without the secrets
  }
}

std::string Signer::sign(std::string_view id, std::int64_t timestamp, std::string_view body) const {
  std::string content{id};
  content.append(".").append(std::to_string(timestamp)).append(".").append(body);
  std::string out;
  for (const std::string& key : keys_) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(content.data()),
         content.size(), digest, &size);
    out.append(out.empty() ? "v1," : " v1,").append(handlers::base64({reinterpret_cast<const char*>(digest), size}));
  }
  return out;
}

}  // namespace http_handler
