#pragma once
#include <memory>
#include <string>

#include "plugin/plugin.hpp"
#include "trace/tracer.hpp"

namespace inboxd::plugin {

/// Who is called, for its spans.
struct TracedHandler {
  std::string name;
  std::string group;  ///< of consumers that the events came through
};

/// The same instance with a span for each attempt of an event that is traced; what the handler asks of others can hang
/// on it, and what it publishes has spans under it. What was undone with its transaction, and is no attempt, has the
/// outcome `undone`. A call that was given up may end after the daemon: it keeps the tracer.
std::unique_ptr<Instance> traced(std::unique_ptr<Instance> instance, TracedHandler handler,
                                 std::shared_ptr<trace::Tracer> tracer);

}  // namespace inboxd::plugin
