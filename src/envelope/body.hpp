#pragma once
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "event/json_text.hpp"

namespace inboxd::envelope {

/// The JSON that a payload means: without the wrapping of converters, as the topic's `unwrap` says. Envelope, handlers
/// and SQL's `inbox.unwrapped` follow the same rules:
///   auto            a JSON string that holds an object or an array is replaced by that; so is {"schema": …,
///                   "payload": …} of Kafka Connect by its payload
///   json-string     a JSON string that holds any JSON
///   schema-payload  any object that has members schema and payload
/// `storage` owns the result if a string had to be unescaped.
event::JsonText body_in(std::string_view payload, config::Unwrap unwrap, std::string& storage);

}  // namespace inboxd::envelope
