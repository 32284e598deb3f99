// The handler `http` posts events to a service. Settings: settings.hpp.
#include <curl/curl.h>

#include <inboxd/handler.hpp>

#include "sender.hpp"
#include "settings.hpp"
#include "target.hpp"

namespace http_handler {
namespace {

struct Http final : inboxd::AsyncHandler {
  explicit Http(const inboxd::Settings& settings)
      : target{handlers::known(settings, table)}, sender{target, settings.log()} {}

  void begin(std::unique_ptr<inboxd::OpenCall>& call) override { sender.send(std::move(call)); }

  const Target target;
  Sender sender;
};

/// Once a process; `create` is called by a single thread at a time.
[[maybe_unused]] const CURLcode is_ready = curl_global_init(CURL_GLOBAL_DEFAULT);

}  // namespace
}  // namespace http_handler

INBOXD_HANDLER(http_handler::Http, "http", INBOXD_VERSION, INBOXD_ASYNC, INBOXD_JSON)
