#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/http_message.hpp"
#include "base/arena.hpp"
#include "event/event.hpp"
#include "inbox/received_events.hpp"

namespace inboxd::webhook {

/// A request with its events, whose bytes belong to it.
struct Posted {
  Posted(admin::HttpRequest given, std::string name) : request{std::move(given)}, topic{std::move(name)} {}

  const admin::HttpRequest request;
  const std::string topic;
  base::Arena arena{4'096};
  std::vector<event::Event> events;  ///< no id twice
  std::vector<std::size_t> places;   ///< for each event of the request, its number in `events`
  bool is_batch = false;
  bool id_decides = false;
};

/// The answer to a stored request: 202, or 409. With `Prefer: return=minimal` it has no body, and a request that
/// brought no new event gets 200.
admin::HttpResponse answer_to(const Posted& posted, const inbox::Receipt* receipts);

}  // namespace inboxd::webhook
