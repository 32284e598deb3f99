// SPDX-License-Identifier: Apache-2.0
//
// Messages to Kafka in the transaction that also records the outcomes, in C++17 or newer. <inboxd/outbox.h> has the
// contract. Include <inboxd/handler.hpp>.
//
//     inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
//       call.outbox().publish("payments", event.key(), R"({"paid": true})", {{"eventType", "Paid"}});
//       return inboxd::done();
//     }
//
//     INBOXD_HANDLER(Pay, "pay", "1.0", INBOXD_OUTBOX)
//
// A refused message throws SqlError. Uncaught, it makes the event a retry of class `sql.SQLSTATE`.
#pragma once

#include <inboxd/outbox.h>

#include <cstddef>
#include <inboxd/basics.hpp>
#include <inboxd/sql.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inboxd {

// Headers of a message: names and values; no value is a null.
using OutboxHeaders = std::vector<std::pair<std::string_view, std::optional<std::string_view>>>;

// The outbox during a call. Only on the call's thread. Cheap to create and copy.
class Outbox {
 public:
  // `index`: of the event whose messages these are; the ids are derived from it.
  Outbox(const inboxd_outbox* outbox, inboxd_call* call, std::size_t index = INBOXD_THE_REST)
      : outbox_{outbox}, call_{call}, index_{index} {}

  // Publishes a message; returns its id as text. No key: no order. No payload: a tombstone.
  std::string publish(std::string_view topic, std::optional<std::string_view> key,
                      std::optional<std::string_view> payload, const OutboxHeaders& headers = {}) {
    std::vector<inboxd_header> all;
    for (const auto& [name, value] : headers) all.push_back({detail::bytes(name), bytes_or_null(value)});
    const inboxd_outbox_message message{detail::bytes(topic), bytes_or_null(key), bytes_or_null(payload), all.data(),
                                        all.size()};
    std::uint8_t id[1][16];
    const inboxd_sql_error* const error = INBOXD_HAS(outbox_, publish_for)
                                              ? outbox_->publish_for(call_, index_, &message, 1, id)
                                              : outbox_->publish(call_, &message, 1, id);
    if (error != nullptr) throw SqlError{*error};
    char text[INBOXD_ID_TEXT_SIZE];
    inboxd_format_id(id[0], text);
    return text;
  }
  const inboxd_outbox& raw() const { return *outbox_; }

 private:
  static inboxd_bytes bytes_or_null(std::optional<std::string_view> bytes) {
    if (!bytes) return {nullptr, 0};
    return bytes->data() == nullptr ? inboxd_bytes{"", 0} : inboxd_bytes{bytes->data(), bytes->size()};
  }

  const inboxd_outbox* outbox_;
  inboxd_call* call_;
  std::size_t index_;
};

}  // namespace inboxd
