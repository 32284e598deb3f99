// The signatures of senders, each HMAC-SHA-256:
//   github             X-Hub-Signature-256: sha256=HEX of the body
//   stripe             Stripe-Signature: t=TIME,v1=HEX[,v1=HEX] of `TIME.BODY`
//   standard-webhooks  webhook-signature: v1,BASE64[ v1,BASE64] of `ID.TIME.BODY`, with webhook-id, webhook-timestamp
#include "webhook/signature.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.hpp"
#include "base/hmac.hpp"
#include "base/text.hpp"

namespace inboxd::webhook {
namespace {

using admin::HttpRequest;

/// The header, if it appears once: the event is read from the header that was verified.
std::optional<std::string_view> only(const HttpRequest& request, std::string_view name) {
  const auto is_it = [&](const auto& header) { return header.first == name; };
  if (std::ranges::count_if(request.headers, is_it) != 1) return std::nullopt;
  return *request.header(name);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    out.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(out.back().size() + 1, text.size()));
  }
  return out;
}

bool is_recent(std::string_view time, std::int64_t now, std::chrono::milliseconds tolerance) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), seconds);
  const std::int64_t most = tolerance.count() / 1'000;
  return error == std::errc{} && end == time.data() + time.size() && seconds >= now - most && seconds <= now + most;
}

/// Compares each signature with that of each secret.
template <class Sign>
bool any_matches(const std::vector<std::string>& secrets, const std::vector<std::string_view>& given, Sign sign) {
  bool out = false;
  for (const std::string& secret : secrets) {
    const std::string wanted = sign(secret);
    if (wanted.empty()) continue;  // an unusable secret signs nothing
    for (const std::string_view each : given) out = base::same_secret(wanted, each) || out;
  }
  return out;
}

bool is_signed_by_github(const config::TopicHttp& rules, const HttpRequest& request) {
  constexpr std::string_view prefix = "sha256=";
  const auto header = only(request, "x-hub-signature-256");
  if (!header || !header->starts_with(prefix)) return false;
  return any_matches(rules.secrets, {header->substr(prefix.size())}, [&](const std::string& secret) {
    return base::hex(base::hmac_sha256(secret, request.body));
  });
}

bool is_signed_by_stripe(const config::TopicHttp& rules, const HttpRequest& request, std::int64_t now) {
  const auto header = only(request, "stripe-signature");
  if (!header) return false;
  std::vector<std::string_view> signatures;
  std::optional<std::string_view> time;
  for (const std::string_view part : parts_of(*header, ',')) {
    if (part.starts_with("v1=")) signatures.push_back(part.substr(3));
    if (!part.starts_with("t=")) continue;
    if (time) return false;
    time = part.substr(2);
  }
  if (!time || !is_recent(*time, now, rules.tolerance)) return false;
  const std::string content = std::string{*time}.append(".").append(request.body);
  return any_matches(rules.secrets, signatures, [&](const std::string& secret) {
    return base::hex(base::hmac_sha256(secret, content));
  });
}

bool has_standard_signature(const config::TopicHttp& rules, const HttpRequest& request, std::int64_t now) {
  const auto id = only(request, "webhook-id");
  const auto time = only(request, "webhook-timestamp");
  const auto header = only(request, "webhook-signature");
  if (!id || !time || !header || !is_recent(*time, now, rules.tolerance)) return false;
  std::vector<std::string_view> signatures;
  for (const std::string_view part : parts_of(*header, ' ')) {
    if (part.starts_with("v1,")) signatures.push_back(part.substr(3));
  }
  const std::string content = std::string{*id}.append(".").append(*time).append(".").append(request.body);
  return any_matches(rules.secrets, signatures, [&](std::string_view secret) {
    constexpr std::string_view prefix = "whsec_";
    if (secret.starts_with(prefix)) secret.remove_prefix(prefix.size());
    const auto key = base::from_base64(secret);
    return key && !key->empty() ? base::base64(base::hmac_sha256(*key, content)) : std::string{};
  });
}

}  // namespace

bool is_signed(const config::TopicHttp& rules, const HttpRequest& request, std::int64_t now) {
  switch (rules.scheme) {
    case config::SignatureScheme::none:
      return true;
    case config::SignatureScheme::github:
      return is_signed_by_github(rules, request);
    case config::SignatureScheme::stripe:
      return is_signed_by_stripe(rules, request, now);
    case config::SignatureScheme::standard_webhooks:
      return has_standard_signature(rules, request, now);
  }
  return false;
}

}  // namespace inboxd::webhook
