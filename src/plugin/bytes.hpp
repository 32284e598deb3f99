#pragma once
#include <string>
#include <string_view>

#include "event/record.hpp"
#include "plugin/abi/inboxd/handler.h"

namespace inboxd::plugin {

/// A view as the ABI's bytes; its address is never null.
inline inboxd_bytes to_bytes(std::string_view view) { return {view.data() == nullptr ? "" : view.data(), view.size()}; }

/// The text, followed by a 0 byte.
inline inboxd_bytes to_bytes(const std::string& text) { return {text.c_str(), text.size()}; }

inline inboxd_bytes to_bytes(const event::MaybeBytes& maybe) {
  return maybe ? to_bytes(*maybe) : inboxd_bytes{nullptr, 0};
}

/// Bytes from a plugin; null is empty.
inline std::string_view to_view(inboxd_bytes bytes) {
  return bytes.data == nullptr ? std::string_view{} : std::string_view{bytes.data, bytes.size};
}

}  // namespace inboxd::plugin
