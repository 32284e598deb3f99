#include "admin/gate.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.hpp"

namespace inboxd::admin {
namespace {

constexpr std::size_t longest_actor = 100;

bool is_address(const std::string& host) {
  in6_addr buffer{};
  return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 || ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

/// Somebody on this machine passes on what comes from elsewhere.
bool is_passed_on(const HttpRequest& request) {
  return request.header("forwarded") != nullptr || request.header("x-forwarded-for") != nullptr ||
         request.header("via") != nullptr;
}

std::string why_without_token(Permission wanted) {
  switch (wanted) {
    case Permission::read:
      return "without admin.token only this machine may read here";
    case Permission::read_with_token:
      return "without admin.token nobody may ask for this over the port: it is dear, or not for everybody on this "
             "machine";
    case Permission::change:
      break;
  }
  return "without admin.token nobody may change anything over this port; what is in the database the command line "
         "changes without it";
}

}  // namespace

bool same_secret(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0U : 1U;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char against = other.empty() ? '\0' : other[i % other.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ against));
  }
  return difference == 0;
}

std::string host_of(std::string_view authority) {
  if (authority.starts_with('['))
    return base::lower(authority.substr(1, std::min(authority.find(']'), authority.size()) - 1));
  return base::lower(authority.substr(0, authority.find(':')));
}

bool Gate::is_our_name(std::string_view authority) const {
  const std::string host = host_of(authority);
  // An address is nobody's name: a page that got here by it was served from here.
  if (host == "localhost" || host.ends_with(".localhost") || is_address(host)) return true;
  return std::any_of(settings_.hosts.begin(), settings_.hosts.end(),
                     [&](const std::string& known) { return base::lower(known) == host; });
}

std::optional<HttpResponse> Gate::refuse_foreign(const HttpRequest& request) const {
  const std::string* const host = request.header("host");
  if (host != nullptr && !is_our_name(*host)) {
    return refusal(403, "this port does not answer to that Host; admin.hosts names those it answers to");
  }
  if (const std::string* const site = request.header("sec-fetch-site");
      site != nullptr && *site != "same-origin" && *site != "none") {
    return refusal(403, "a page of another site asks; nothing is answered to it");
  }
  if (const std::string* const origin = request.header("origin")) {
    const auto slashes = origin->find("://");
    const bool is_ours = slashes != std::string::npos && host != nullptr &&
                         base::lower(origin->substr(slashes + 3)) == base::lower(*host);
    if (!is_ours) return refusal(403, "a page of another origin asks; nothing is answered to it");
  }
  return std::nullopt;
}

std::optional<HttpResponse> Gate::refuse_unauthorised(const HttpRequest& request, Permission wanted) const {
  const auto unauthorised = [](const std::string& message) {
    HttpResponse out = refusal(401, message);
    out.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"inboxd\"");
    return out;
  };
  if (const std::string* const given = request.header("authorization")) {
    constexpr std::string_view scheme = "bearer ";
    const bool is_bearer = base::lower(given->substr(0, scheme.size())) == scheme;
    const std::string_view token = is_bearer ? std::string_view{*given}.substr(scheme.size()) : std::string_view{};
    if (is_bearer && !settings_.token.empty() && same_secret(token, settings_.token.reveal())) return std::nullopt;
    return unauthorised("the token is not the one that admin.token says");
  }
  if (wanted == Permission::read && request.peer.is_local && !is_passed_on(request)) return std::nullopt;
  if (settings_.token.empty()) return refusal(403, why_without_token(wanted));
  return unauthorised("send the token that admin.token says: Authorization: Bearer TOKEN");
}

std::optional<HttpResponse> Gate::refuse_media(const HttpRequest& request) {
  const std::string* const type = request.header("content-type");
  std::string media = type == nullptr ? "" : base::lower(type->substr(0, type->find(';')));
  while (media.ends_with(' ')) media.pop_back();
  if (media == "application/json") return std::nullopt;
  return refusal(415, "send Content-Type: application/json, with a JSON object (which may be empty)");
}

std::string Gate::actor_of(const HttpRequest& request) {
  std::string out = "admin port, " + request.peer.name;
  if (const std::string* const claimed = request.header(actor_header); claimed != nullptr && !claimed->empty()) {
    out = base::escape_controls(base::shorten(*claimed, longest_actor)) + ", " + out;
  }
  return out;
}

}  // namespace inboxd::admin
