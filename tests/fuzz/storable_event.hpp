#pragma once
#include "base/text.hpp"
#include "event/event.hpp"
#include "event/headers.hpp"

namespace inboxd::fuzz {

inline bool is_attribute(const event::MaybeBytes& text) {
  return !text || (text->size() <= 1024 && base::is_database_text(*text));
}

/// Why an event that was decoded from the record cannot be stored; null: it can.
inline const char* problem_of(const event::Event& event, const event::Record& record) {
  if (event.key != record.key || event.payload != record.payload || event.offset != record.offset) {
    return "key, payload and offset are the record's";
  }
  if (event.event_type.empty()) return "an event has a type";
  if (!is_attribute(event.event_type) || !is_attribute(event.source) || !is_attribute(event.subject)) {
    return "attributes are short texts of the database";
  }
  if (event.source_id && (event.source_id->size() > 256 || event.source_id->empty() ||
                          base::escape_controls(*event.source_id) != *event.source_id)) {
    return "the producer's id is a short text without control characters";
  }
  if (event.headers.has_value() == record.headers.empty()) return "headers are kept";
  if (event.headers && event::unpack_headers(*event.headers) != record.headers) return "headers are the record's";
  if (event.occurred_at && *event.occurred_at < -210'866'803'200'000'000) return "the database can hold its time";
  if (event.kafka_timestamp && *event.kafka_timestamp < 0) return "a timestamp is not negative";
  return nullptr;
}

}  // namespace inboxd::fuzz
