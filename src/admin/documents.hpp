#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "admin/operation.hpp"
#include "event/offsets.hpp"
#include "inbox/operations.hpp"

/// How values look in documents. Times are RFC 3339 in UTC; bytes are text where they are UTF-8, else {"base64": …};
/// what is not there is null.
namespace inboxd::admin {

Document time_of(event::Microseconds time);
Document time_of(const std::optional<event::Microseconds>& time);
Document bytes_of(const std::optional<std::string>& bytes);
Document text_of(const std::optional<std::string>& text);
/// Seconds, with a fraction.
Document seconds_of(const std::optional<std::chrono::microseconds>& duration);
/// A number; `at_least_KEY: true` beside it where there are more.
void put_count(Document& into, const std::string& key, const inbox::Count& count);
Document range_of(const event::OffsetRange& range);
/// [{"name", "value"}], faithful to order and repetition.
Document headers_of(const std::optional<std::string>& packed);
Document worker_of(const std::optional<inbox::Worker>& worker);

/// An event's attributes, without payload and headers.
Document summary_of(const inbox::StoredEvent& event);
/// An event whole.
Document whole_of(const inbox::StoredEvent& event);

std::string base64(std::string_view bytes);

}  // namespace inboxd::admin
