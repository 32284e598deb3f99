#pragma once
#include <optional>
#include <string_view>

#include "base/arena.hpp"

namespace inboxd::envelope {

/// The first byte of an AMQP timestamp.
inline constexpr char amqp_timestamp = '\x83';

/// The text of an AMQP 1.0 encoded string, symbol, UUID, 64-bit number or timestamp: Azure Event Hubs gives the
/// properties of AMQP clients to Kafka clients in this form. nullopt: anything else. No text in UTF-8 begins with these
/// bytes.
std::optional<std::string_view> amqp_text(std::string_view bytes, base::Arena& arena);

}  // namespace inboxd::envelope
