// Setting `url` of handler http: no event chooses the server.
#include "fuzz/target.hpp"
#include "handlers/http/url_template.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const std::string text{input.text()};
  const auto key = input.text(), type = input.text(), topic = input.rest();
  inboxd_event event{};
  event.struct_size = sizeof event;
  event.key = {key.data(), key.size()};
  event.event_type = {type.data(), type.size()};
  event.topic = {topic.data(), topic.size()};
  try {
    const http_handler::UrlTemplate url{text};
    const auto made = url.url_for(inboxd::Event{nullptr, 0, &event});
    if (!made) return 0;
    fuzz::require(made->starts_with(url.server()), "the server is the setting's");
    const auto after = made->substr(url.server().size());
    fuzz::require(after.empty() || after.front() == '/' || after.front() == '?', "the path follows the server");
    for (const char c : *made) fuzz::require(c > ' ' && c < 127, "an address has no control characters");
  } catch (const SettingsError& error) {
    fuzz::require(*error.what() != '\0', "a refusal says why");
  }
  return 0;
}
