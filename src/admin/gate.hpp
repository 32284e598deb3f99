#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http_message.hpp"
#include "config/settings.hpp"
#include "operations/operation.hpp"

namespace inboxd::admin {

/// Authorisation: pure functions of the request and the configuration.
class Gate final {
 public:
  /// Both outlive it.
  Gate(const config::Admin& settings, const std::string& page_key) : settings_{settings}, page_key_{page_key} {}

  /// 403 for an unknown Host and for requests from pages of other sites: such a page in a browser on this machine must
  /// neither read nor change anything, by any name of the port.
  std::optional<HttpResponse> refuse_foreign(const HttpRequest& request) const;
  /// 401 or 403 if the caller lacks the permission.
  std::optional<HttpResponse> refuse_unauthorised(const HttpRequest& request, operations::Permission wanted) const;
  /// 415 for a change that is not JSON: a form of another site can send other media types without permission.
  static std::optional<HttpResponse> refuse_media(const HttpRequest& request);

  /// The caller for the audit: `alice@laptop, admin port, 127.0.0.1`. Behind a trusted proxy it is the person that the
  /// proxy names.
  std::string actor_of(const HttpRequest& request) const;

 private:
  /// The holder of the token in a request.
  enum class Holder { none, reader, viewer, administrator };
  bool is_our_name(std::string_view host) const;
  Holder holder_of(std::string_view authorization) const;
  bool reads_without_token(const HttpRequest& request) const;
  HttpResponse refuse_without_token(operations::Permission wanted) const;

  const config::Admin& settings_;
  const std::string& page_key_;  ///< empty: none
};

/// Compares two texts in a time that does not reveal where they differ.
bool same_secret(std::string_view one, std::string_view other);

/// The host of `HOST` or `HOST:PORT`, in lower case, without brackets.
std::string host_of(std::string_view authority);

/// The header in which a caller names the person that it asks for.
inline constexpr std::string_view actor_header = "inboxd-actor";

}  // namespace inboxd::admin
