#pragma once
#include <inboxd/handler.hpp>
#include <string>
#include <vector>

#include "target.hpp"

namespace http_handler {

/// A request's body and headers.
struct Message {
  std::string body;
  std::vector<std::string> headers;  ///< `Name: value`
};

/// An event in the target's style. On the call's thread.
Message message_of(const Target& target, inboxd::Call& call, const inboxd::Event& event);

/// Events of a call as a batch of CloudEvents. Its id is the id of its only event, or a digest of the events' ids:
/// equal events give an equal id. On the call's thread.
Message batch_of(const Target& target, inboxd::Call& call, const std::vector<inboxd::Event>& events);

}  // namespace http_handler
