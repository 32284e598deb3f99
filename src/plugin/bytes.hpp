#pragma once
#include <string>
#include <string_view>

#include "event/record.hpp"
#include "plugin/abi/inboxd/handler.h"

namespace inboxd::plugin {

/// Bytes that are there: never null on the other side, also where the view has no address.
inline inboxd_bytes to_bytes(std::string_view view) { return {view.data() == nullptr ? "" : view.data(), view.size()}; }

/// The same; a 0 byte follows.
inline inboxd_bytes to_bytes(const std::string& text) { return {text.c_str(), text.size()}; }

inline inboxd_bytes to_bytes(const event::MaybeBytes& maybe) {
  return maybe ? to_bytes(*maybe) : inboxd_bytes{nullptr, 0};
}

/// What a plugin gave; null is empty.
inline std::string_view to_view(inboxd_bytes bytes) {
  return bytes.data == nullptr ? std::string_view{} : std::string_view{bytes.data, bytes.size};
}

}  // namespace inboxd::plugin
