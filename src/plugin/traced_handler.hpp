#pragma once
#include <memory>
#include <string>

#include "plugin/instance.hpp"
#include "trace/tracer.hpp"

namespace inboxd::plugin {

/// The handler's coordinates, for its spans.
struct TracedHandler {
  std::string name;
  std::string group;  ///< Kafka consumer group of the events
};

/// Wraps an instance: each attempt of a traced event gets a span, the parent of the handler's own calls and publishes.
/// An attempt that rolled back with its transaction has the outcome `undone`. Shares the tracer, because a call that
/// was abandoned may end after the daemon.
std::unique_ptr<Instance> traced(std::unique_ptr<Instance> instance, TracedHandler handler,
                                 std::shared_ptr<trace::Tracer> tracer);

}  // namespace inboxd::plugin
