#include "webhook/gate.hpp"

#include <string>
#include <string_view>

#include "base/hmac.hpp"
#include "base/text.hpp"
#include "webhook/signature.hpp"

namespace inboxd::webhook {
namespace {

using admin::HttpResponse;

std::string_view token_in(const admin::HttpRequest& request) {
  constexpr std::string_view scheme = "bearer ";
  const std::string* const given = request.header("authorization");
  if (given == nullptr || base::lower(given->substr(0, scheme.size())) != scheme) return {};
  return std::string_view{*given}.substr(scheme.size());
}

/// Compares with all of them: the time must not tell which token is more similar.
bool is_token_of(const Endpoint& endpoint, std::string_view given) {
  bool out = false;
  for (const std::string& token : endpoint.http.tokens) out = base::same_secret(token, given) || out;
  return out;
}

HttpResponse unauthorised(const std::string& message) {
  HttpResponse out = admin::refusal(401, message);
  out.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"inboxd\"");
  return out;
}

std::optional<HttpResponse> refuse_token(const Endpoints& all, const Endpoint& endpoint,
                                         const admin::HttpRequest& request) {
  const std::string_view given = token_in(request);
  if (endpoint.http.tokens.empty() || (!given.empty() && is_token_of(endpoint, given))) return std::nullopt;
  bool is_of_another = false;
  for (const auto& [topic, other] : all) is_of_another = is_token_of(other, given) || is_of_another;
  if (!given.empty() && is_of_another) {
    return admin::refusal(403, "this token is for another topic; send one of topics[].http.token of this topic");
  }
  return unauthorised("send a token of topics[].http.token: Authorization: Bearer TOKEN");
}

}  // namespace

std::optional<HttpResponse> refuse_sender(const Endpoints& all, const Endpoint& endpoint,
                                          const admin::HttpRequest& request, std::int64_t now) {
  const std::string* const site = request.header("sec-fetch-site");
  if (request.header("origin") != nullptr || (site != nullptr && *site != "none")) {
    return admin::refusal(403, "requests from web pages are refused; send events from a server");
  }
  if (auto refused = refuse_token(all, endpoint, request)) return refused;
  if (is_signed(endpoint.http, request, now)) return std::nullopt;
  return admin::refusal(401,
                        "the request is not signed as topics[].http.verify demands; check secret, scheme and clock");
}

}  // namespace inboxd::webhook
