#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http_message.hpp"
#include "admin/operation.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

/// Who may ask for what: pure functions of the request and the configuration.
class Gate final {
 public:
  explicit Gate(const config::Admin& settings) : settings_{settings} {}

  /// Whether the request comes from where it says, and from no other site's page: 403 where not. A page that some
  /// browser on this machine shows must neither read nor change anything here, by whatever name it knows the port.
  std::optional<HttpResponse> refuse_foreign(const HttpRequest& request) const;
  /// Whether the caller may do that: 401 or 403 where not.
  std::optional<HttpResponse> refuse_unauthorised(const HttpRequest& request, Permission wanted) const;
  /// A change is JSON, which no form of another site can send unasked: 415 where it is not.
  static std::optional<HttpResponse> refuse_media(const HttpRequest& request);

  /// Whose deed it is, for the audit: `alice@laptop, admin port, 127.0.0.1`.
  static std::string actor_of(const HttpRequest& request);

 private:
  bool is_our_name(std::string_view host) const;

  const config::Admin& settings_;
};

/// Whether two texts are the same, in a time that does not tell where they differ.
bool same_secret(std::string_view one, std::string_view other);

/// The host of `HOST` or `HOST:PORT`, in lower case, without brackets.
std::string host_of(std::string_view authority);

/// The header with which a caller says on whose behalf it asks.
inline constexpr std::string_view actor_header = "inboxd-actor";

}  // namespace inboxd::admin
