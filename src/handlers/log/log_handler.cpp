// The handler `log` writes a line for each event, to try things out. It shows keys, never payloads or header
// values. Settings: settings.hpp.
#include <inboxd/handler.hpp>

#include "settings.hpp"

namespace {

constexpr std::size_t shown_key_bytes = 128;

std::int32_t level_of(const std::string& name) {
  if (name == "debug") return INBOXD_LOG_DEBUG;
  if (name == "info") return INBOXD_LOG_INFO;
  if (name == "warn") return INBOXD_LOG_WARN;
  if (name == "error") return INBOXD_LOG_ERROR;
  throw inboxd::SettingsError{"setting 'level' is '" + name + "'; it must be debug, info, warn or error"};
}

/// Quoted, so that the value cannot end its quotes. The daemon escapes invalid UTF-8.
std::string quoted(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

std::string shown_key(inboxd::MaybeText key) {
  if (!key) return "null";
  if (key->size() <= shown_key_bytes) return quoted(*key);
  std::size_t end = shown_key_bytes;
  while (end > 0 && (static_cast<unsigned char>((*key)[end]) & 0xC0) == 0x80) --end;
  return quoted(key->substr(0, end)) + "...";
}

struct Log : inboxd::Handler {
  explicit Log(const inboxd::Settings& settings)
      : log{settings.log()}, level{level_of(settings.text("level", log_handler::table.text("level")))} {}

  inboxd::Outcome handle(inboxd::Call&, const inboxd::Event& event) override {
    std::string line = "event event_id=" + event.id();
    line += " type=" + quoted(event.type());
    line.append(" at=").append(event.topic()).append("/" + std::to_string(event.partition()));
    line += "/" + std::to_string(event.offset());
    line += " attempt=" + std::to_string(event.attempt());
    line += " key=" + shown_key(event.key());
    log.write(level, line);
    return inboxd::done();
  }

  inboxd::Log log;
  std::int32_t level;
};

}  // namespace

INBOXD_HANDLER(Log, "log", INBOXD_VERSION)
