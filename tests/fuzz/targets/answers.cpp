// Answers of programs (handler exec) and services (handler http).
#include "fuzz/target.hpp"
#include "handlers/http/answer.hpp"
#include "handlers/shared/answer.hpp"
#include "handlers/shared/encoding.hpp"

using namespace inboxd;

namespace {

http_handler::Target target() {
  static const inboxd_setting settings[]{{inboxd_text("url"), inboxd_text("http://localhost/orders")},
                                         {inboxd_text("batches"), inboxd_text("true")}};
  inboxd_config config{};
  config.struct_size = sizeof config;
  config.handler = inboxd_text("receipt");
  config.events_per_call = 2;
  config.settings = settings;
  config.setting_count = 1;
  return http_handler::Target{Settings{nullptr, &config}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const http_handler::Target service = target();
  fuzz::Input input{data, size};
  http_handler::Answer answer;
  answer.status = 100 + static_cast<long>(input.number() % 500);
  answer.has_connected = true;
  answer.is_whole = input.below(8) != 0;
  answer.retry_after = input.text();
  answer.content_type = input.text();
  answer.body = input.rest();

  std::string why;
  if (const auto verdict = handlers::answer_of(answer.body, why); !verdict) {
    fuzz::require(!why.empty(), "a refused answer has its mistake");
  }
  inboxd_event event{};
  event.struct_size = sizeof event;
  const std::vector<Event> events{{nullptr, 0, &event}, {nullptr, 1, &event}};
  fuzz::require(http_handler::outcomes_in(service, answer, events).size() == events.size(),
                "an outcome for each event");
  (void)http_handler::outcome_of(service, answer, std::chrono::system_clock::time_point{std::chrono::hours{400'000}});
  (void)http_handler::doubt_about(service, answer);
  if (const auto bytes = handlers::from_base64(answer.body)) {
    fuzz::require(handlers::base64(*bytes) == answer.body, "base64 is written as it was read");
  }
  (void)handlers::is_deep(answer.body);
  (void)handlers::canonical_id(answer.body);
  return 0;
}
