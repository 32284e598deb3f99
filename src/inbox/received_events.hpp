#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "event/event.hpp"
#include "inbox/connection.hpp"
#include "inbox/generations.hpp"

namespace inboxd::inbox {

/// An event that came over HTTP. `request` is the number of its request: of a request all events are staged, or none.
struct ReceivedEvent {
  std::int32_t request = 0;
  std::string_view topic;
  const event::Event* event = nullptr;
  bool id_decides = false;  ///< another payload under a known id is a repetition, too
};

enum class Receipt {
  staged,    ///< unless another event of its request conflicts
  repeated,  ///< known: staged or stored before
  conflict,  ///< known, with another key or payload
};

/// Stages the events of local topics in a transaction of its own; no id comes twice. It may be repeated. Ids are looked
/// up in generations of the ledger that `filters` do not rule out.
std::vector<Receipt> receive(Connection& connection, const LedgerFilters& filters,
                             const std::vector<ReceivedEvent>& events);

}  // namespace inboxd::inbox
