// The extension inboxd.outbox/1: converts between the ABI's structs and the transaction's types.
#include <cstring>
#include <utility>

#include "event/headers.hpp"
#include "plugin/bytes.hpp"
#include "plugin/call_sql.hpp"

namespace inboxd::plugin {
namespace {

std::optional<std::string_view> maybe(inboxd_bytes bytes) {
  return bytes.data == nullptr ? std::nullopt : std::optional{to_view(bytes)};
}

std::optional<std::string> packed(const inboxd_outbox_message& message) {
  if (message.headers == nullptr || message.header_count == 0) return std::nullopt;
  std::vector<event::Header> headers;
  for (std::size_t i = 0; i < message.header_count; ++i) {
    headers.push_back({to_view(message.headers[i].name), maybe(message.headers[i].value)});
  }
  return event::pack_headers(headers);
}

const inboxd_sql_error* publish(inboxd_call* call, const inboxd_outbox_message* messages, std::size_t count,
                                std::uint8_t (*ids)[16]) {
  return sql_of_call(call)->publish(INBOXD_THE_REST, {messages, count}, ids);
}

const inboxd_sql_error* publish_for(inboxd_call* call, std::size_t index, const inboxd_outbox_message* messages,
                                    std::size_t count, std::uint8_t (*ids)[16]) {
  return sql_of_call(call)->publish(index, {messages, count}, ids);
}

}  // namespace

/// Equal for the same message of the event, in every call and on every server.
std::optional<base::Uuid> CallSql::next_message_id(std::size_t index) {
  if (index == INBOXD_THE_REST && events_.size() == 1) index = 0;
  if (index >= events_.size()) return std::nullopt;
  if (published_for_.empty()) published_for_.resize(events_.size());
  const std::string name = std::string{handler_} + "/" + std::to_string(++published_for_[index]);
  return base::uuid_v5(events_[index].event->event_id, name);
}

const inboxd_sql_error* CallSql::publish(std::size_t index, std::span<const inboxd_outbox_message> messages,
                                         std::uint8_t (*ids)[16]) {
  if (messages.empty()) return nullptr;
  std::vector<transaction::OutboxMessage> all;
  all.reserve(messages.size());
  for (const inboxd_outbox_message& message : messages) {
    all.push_back({to_view(message.topic), maybe(message.key), maybe(message.payload), packed(message),
                   next_message_id(index)});
  }
  std::vector<base::Uuid> given(messages.size());
  published_ = std::make_unique<SqlAnswer>(sql_.publish(all, given));
  if (published_->error != nullptr) return published_->error;
  for (std::size_t i = 0; ids != nullptr && i < given.size(); ++i) std::memcpy(ids[i], given[i].bytes.data(), 16);
  return nullptr;
}

const inboxd_outbox* outbox_call_part() {
  static constexpr inboxd_outbox part{sizeof(inboxd_outbox), 0, plugin::publish, plugin::publish_for};
  return &part;
}

}  // namespace inboxd::plugin
