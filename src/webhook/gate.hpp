#pragma once
#include <cstdint>
#include <optional>

#include "admin/http_message.hpp"
#include "webhook/endpoint.hpp"

namespace inboxd::webhook {

/// Why a sender may not post to the topic: 403 for a web page or another topic's token, 401 for a missing or wrong
/// token or signature. The text does not tell a wrong signature from a missing, old or malformed one. Pure. `now`:
/// seconds since 1970.
std::optional<admin::HttpResponse> refuse_sender(const Endpoints& all, const Endpoint& endpoint,
                                                 const admin::HttpRequest& request, std::int64_t now);

}  // namespace inboxd::webhook
