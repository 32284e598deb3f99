#include "admin/gate.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "admin/page_key.hpp"
#include "base/network.hpp"
#include "base/text.hpp"

namespace inboxd::admin {
namespace {

constexpr std::size_t max_actor = 100;

bool is_address(const std::string& host) {
  in6_addr buffer{};
  return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 || ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

/// A proxy on this machine marks requests of others.
bool is_passed_on(const HttpRequest& request) {
  return request.header("forwarded") != nullptr || request.header("x-forwarded-for") != nullptr ||
         request.header("via") != nullptr;
}

HttpResponse unauthorised(const std::string& message) {
  HttpResponse out = refusal(401, message);
  out.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"inboxd\"");
  return out;
}

/// The refusal if no configured token would allow the request.
std::string why_without_token(operations::Permission wanted) {
  switch (wanted) {
    case operations::Permission::read:
      return "only this machine may read here; set admin.token or admin.read_token to read from elsewhere";
    case operations::Permission::read_with_token:
      return "this read is slow or confidential and needs a token; set admin.token or admin.read_token";
    case operations::Permission::change:
      break;
  }
  return "a change over HTTP needs a token; set admin.token, or use the command line, which needs none";
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
  // A page that was loaded by address was served from here: rebinding attacks need a name.
  if (host == "localhost" || host.ends_with(".localhost") || is_address(host)) return true;
  return std::any_of(settings_.hosts.begin(), settings_.hosts.end(),
                     [&](const std::string& known) { return base::lower(known) == host; });
}

std::optional<HttpResponse> Gate::refuse_foreign(const HttpRequest& request) const {
  const std::string* const host = request.header("host");
  if (host != nullptr && !is_our_name(*host)) {
    return refusal(403, "unknown Host; add it to admin.hosts");
  }
  if (const std::string* const site = request.header("sec-fetch-site");
      site != nullptr && *site != "same-origin" && *site != "none") {
    return refusal(403, "requests from pages of other sites are refused");
  }
  if (const std::string* const origin = request.header("origin")) {
    const auto slashes = origin->find("://");
    const bool is_ours = slashes != std::string::npos && host != nullptr &&
                         base::lower(origin->substr(slashes + 3)) == base::lower(*host);
    if (!is_ours) return refusal(403, "requests from pages of another origin are refused");
  }
  return std::nullopt;
}

std::optional<HttpResponse> Gate::refuse_unauthorised(const HttpRequest& request, operations::Permission wanted) const {
  if (const std::string* const given = request.header("authorization")) {
    switch (holder_of(*given)) {
      case Holder::administrator:
        return std::nullopt;
      case Holder::reader:
        if (wanted != operations::Permission::change) return std::nullopt;
        return refusal(403, "admin.read_token allows no change; send admin.token");
      case Holder::viewer:
        if (wanted != operations::Permission::change) return std::nullopt;
        return refusal(403, "the link of `inboxd ui` allows no change here; set admin.token, or admin.ui to full");
      case Holder::none:
        return unauthorised("the token is neither admin.token nor admin.read_token, nor the key of `inboxd ui`, which "
                            "is another after each start");
    }
  }
  if (wanted == operations::Permission::read && reads_without_token(request)) return std::nullopt;
  return refuse_without_token(wanted);
}

Gate::Holder Gate::holder_of(std::string_view authorization) const {
  constexpr std::string_view scheme = "bearer ";
  if (base::lower(authorization.substr(0, scheme.size())) != scheme) return Holder::none;
  const std::string_view given = authorization.substr(scheme.size());
  // Always compares all: the time must not reveal which token is more similar.
  const bool is_token = same_secret(given, settings_.token.now()) && !settings_.token.empty();
  const bool is_read_token = same_secret(given, settings_.read_token.now()) && !settings_.read_token.empty();
  const bool is_page_key = same_secret(given, page_key_) && !page_key_.empty();
  if (is_token) return Holder::administrator;
  if (is_page_key) return rights_of_page(settings_) == config::AdminUi::full ? Holder::administrator : Holder::viewer;
  return is_read_token ? Holder::reader : Holder::none;
}

bool Gate::reads_without_token(const HttpRequest& request) const {
  return settings_.read == config::AdminRead::loopback && request.peer.is_local && !is_passed_on(request);
}

HttpResponse Gate::refuse_without_token(operations::Permission wanted) const {
  const bool has_one =
      !settings_.token.empty() || (wanted != operations::Permission::change && !settings_.read_token.empty());
  if (!has_one) return refusal(403, why_without_token(wanted));
  return unauthorised(wanted == operations::Permission::change
                          ? "send admin.token: Authorization: Bearer TOKEN"
                          : "send admin.token or admin.read_token: Authorization: Bearer TOKEN");
}

std::optional<HttpResponse> Gate::refuse_media(const HttpRequest& request) {
  const std::string* const type = request.header("content-type");
  std::string media = type == nullptr ? "" : base::lower(type->substr(0, type->find(';')));
  while (media.ends_with(' ')) media.pop_back();
  if (media == "application/json") return std::nullopt;
  return refusal(415, "send Content-Type: application/json, with a JSON object (which may be empty)");
}

std::string Gate::actor_of(const HttpRequest& request) const {
  std::string out = "admin port, " + request.peer.name;
  const auto& proxy = settings_.actor_header;
  const bool is_proxy = std::any_of(proxy.from.begin(), proxy.from.end(), [&](const std::string& from) {
    const auto network = base::Network::parse(from);
    return network && network->contains(request.peer.name);
  });
  const std::string* const claimed = request.header(is_proxy ? std::string_view{proxy.name} : actor_header);
  if (claimed != nullptr && !claimed->empty()) {
    out = base::escape_controls(base::shorten(*claimed, max_actor)) + ", " + out;
  }
  return out;
}

}  // namespace inboxd::admin
