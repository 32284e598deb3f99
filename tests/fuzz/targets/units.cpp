// Durations, sizes and times: a text that is read is written so that it reads the same.
#include "config/units.hpp"

#include "envelope/time.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto duration = config::parse_duration(text)) {
    fuzz::require(config::parse_duration(config::duration_text(*duration)) == duration, "durations read the same");
  }
  if (const auto bytes = config::parse_size(text)) {
    fuzz::require(config::parse_size(config::size_text(*bytes)) == bytes, "sizes read the same");
  }
  if (const auto time = config::parse_time(text)) {
    fuzz::require(config::parse_time(config::time_text(*time)) == time, "times read the same");
  }
  if (const auto time = envelope::parse_rfc3339(text)) {
    fuzz::require(envelope::parse_time(text) == time, "a time by RFC 3339 is a time");
  }
  using config::TimeUnit;
  for (const auto unit : {TimeUnit::automatic, TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
    const auto time = envelope::database_time(envelope::parse_time(text, unit));
    if (time) (void)config::time_text(*time);
  }
  return 0;
}
