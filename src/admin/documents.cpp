#include "admin/documents.hpp"

#include "base/text.hpp"
#include "config/units.hpp"
#include "event/headers.hpp"

namespace inboxd::admin {
namespace {

Document bytes_of_view(const event::MaybeBytes& bytes) {
  if (!bytes) return nullptr;
  if (base::is_utf8(*bytes)) return std::string{*bytes};
  return {{"base64", base64(*bytes)}};
}

}  // namespace

Document time_of(event::Microseconds time) { return config::time_text(time); }

Document time_of(const std::optional<event::Microseconds>& time) {
  return time ? time_of(*time) : Document(nullptr);
}

Document bytes_of(const std::optional<std::string>& bytes) {
  return bytes ? bytes_of_view(std::string_view{*bytes}) : Document(nullptr);
}

Document text_of(const std::optional<std::string>& text) { return text ? Document(*text) : Document(nullptr); }

Document seconds_of(const std::optional<std::chrono::microseconds>& duration) {
  if (!duration) return nullptr;
  return static_cast<double>(duration->count()) / 1e6;
}

void put_count(Document& into, const std::string& key, const inbox::Count& count) {
  into[key] = count.number;
  if (count.at_least) into["at_least_" + key] = true;
}

Document range_of(const event::OffsetRange& range) { return {{"from", range.first}, {"to", range.end}}; }

Document headers_of(const std::optional<std::string>& packed) {
  Document out = Document::array();
  if (!packed) return out;
  for (const event::Header& header : event::unpack_headers(*packed)) {
    out.push_back({{"name", bytes_of_view(header.name)}, {"value", bytes_of_view(header.value)}});
  }
  return out;
}

Document worker_of(const std::optional<inbox::Worker>& worker) {
  if (!worker) return nullptr;
  return {{"host", worker->host}, {"process_id", worker->process_id}};
}

Document summary_of(const inbox::StoredEvent& event) {
  Document out{{"event_id", event.event_id.text()},
               {"source_id", event.source_id.value_or(event.event_id.text())},
               {"topic", event.topic},
               {"partition", event.partition},
               {"offset", event.offset},
               {"event_type", event.event_type},
               {"source", text_of(event.source)},
               {"subject", text_of(event.subject)},
               {"key", bytes_of(event.key)},
               {"payload_size", event.payload_size ? Document(*event.payload_size) : Document(nullptr)},
               {"occurred_at", time_of(event.occurred_at)},
               {"kafka_timestamp", time_of(event.kafka_timestamp)},
               {"received_at", time_of(event.received_at)}};
  if (event.key_is_cut) out["key_is_cut"] = true;
  return out;
}

Document whole_of(const inbox::StoredEvent& event) {
  Document out = summary_of(event);
  out["headers"] = headers_of(event.headers);
  out["payload"] = bytes_of(event.payload);
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) : 0U;
    };
    const unsigned bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += digits[bits >> 18 & 63];
    out += digits[bits >> 12 & 63];
    out += i + 1 < bytes.size() ? digits[bits >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? digits[bits & 63] : '=';
  }
  return out;
}

}  // namespace inboxd::admin
