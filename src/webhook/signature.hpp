#pragma once
#include <cstdint>

#include "admin/http_message.hpp"
#include "config/settings.hpp"

namespace inboxd::webhook {

/// Whether a holder of one of the topic's secrets has signed the request, as its scheme says, and recently. Compares in
/// constant time. `now`: seconds since 1970.
bool is_signed(const config::TopicHttp& rules, const admin::HttpRequest& request, std::int64_t now);

}  // namespace inboxd::webhook
