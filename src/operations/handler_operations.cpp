#include <algorithm>

#include "inbox/value_of.hpp"
#include "operations/documents.hpp"
#include "operations/handler_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/status_operation.hpp"
#include "operations/status_texts.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

using std::chrono::milliseconds;

/// Deliveries of a transaction: short enough that others barely wait for its locks.
constexpr int batch_deliveries = 2'000;
/// The wait for deliveries that another transaction has locked.
constexpr milliseconds look_again{100};

std::optional<HandlerPending> find(Context& context, const std::string& name) {
  return find_pending(*context.connection, name, live_within);
}

std::vector<HandlerState> handlers_for(Context& context) {
  auto out = read_handlers(*context.connection);
  if (context.shows_content) add_pause_reasons(*context.connection, out);
  return out;
}

/// A handler that is not retired.
std::optional<HandlerState> find_handler(Context& context, const std::string& name) {
  for (auto& handler : handlers_for(context)) {
    if (handler.name == name && !handler.retired_at) return std::move(handler);
  }
  return std::nullopt;
}

bool has_pending(const HandlerPending& handler) { return handler.events > 0 || handler.backfill > 0; }

/// Drops a retired handler's pending events batch by batch; returns their number. `left` is the rest after an
/// interruption, or once the handler is restored.
std::int64_t drop(Context& context, const std::string& name, HandlerPending& left) {
  const std::int64_t total = left.events;
  std::int64_t dropped = 0;
  while (left.is_retired && has_pending(left)) {
    const auto batch = drop_pending(*context.connection, left.handler_id, batch_deliveries);
    dropped += batch.events;
    left.events -= batch.events;
    context.progress({"dropped", std::min(dropped, total), total});
    // A short batch may have skipped locked deliveries, or a back-fill has just added some: read the state again.
    if (batch.rows < batch_deliveries) left = find(context, name).value_or(left);
    if (context.pause(batch.rows == 0 && has_pending(left) ? look_again : milliseconds{0})) break;
  }
  return dropped;
}

}  // namespace

Answer functions::handlers_list(Context& context, const Arguments&) {
  Document handlers = Document::array();
  const auto activities = read_activities(*context.connection);
  for (const auto& handler : handlers_for(context)) {
    handlers.push_back(document_of(handler, activity_of(activities, handler.handler_id)));
  }
  Answer out;
  if (handlers.empty()) {
    out = {base::ExitCode::no, nullptr, "the database knows no handler yet; `inboxd run` registers them"};
  }
  out.document = {{"handlers", std::move(handlers)}};
  return out;
}

Answer functions::handlers_pause(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  const auto reason = arguments.text("reason");
  if (!reason || reason->empty()) {
    return {base::ExitCode::usage, nullptr, "handlers pause: pass --reason TEXT; status shows it"};
  }
  const auto handler = find_handler(context, name);
  if (!handler) return unknown_handler(context, "handlers pause", name);
  bool was_paused = handler->paused_reason.has_value();
  if (!arguments.flag("dry-run")) was_paused = !pause_handler(*context.connection, name, *reason, context.actor);
  return {base::ExitCode::done,
          {{"dry_run", arguments.flag("dry-run")},
           {"handler", name},
           {"was_paused", was_paused},
           {"paused_reason", was_paused ? handler->paused_reason.value_or(*reason) : *reason}},
          ""};
}

Answer functions::handlers_resume(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  const auto handler = find_handler(context, name);
  if (!handler) return unknown_handler(context, "handlers resume", name);
  Document document = {
      {"dry_run", arguments.flag("dry-run")}, {"handler", name}, {"paused_reason", text_of(handler->paused_reason)}};
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  document["is_trying"] = inbox::value_of<bool>(resume_handler(*context.connection, name, context.actor),
                                                {{"resumed", false}, {"trying", true}, {"running", false}});
  return {base::ExitCode::done, document, ""};
}

Answer functions::handlers_run(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  const bool is_dry = arguments.flag("dry-run");
  const auto window = close_window(*context.connection, name, context.actor, !is_dry, live_within);
  if (!window) return unknown_handler(context, "handlers run", name);
  if (window->mode != "batch") {
    return {base::ExitCode::no, nullptr,
            "handlers run: " + name + " has mode: " + window->mode + "; only a batch handler has windows"};
  }
  return {base::ExitCode::done,
          {{"dry_run", is_dry},
           {"handler", name},
           {"events", window->events},
           {"is_running", window->is_running},
           {"configured_by", window->configured_by}},
          ""};
}

Answer functions::handlers_retire(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  auto pending = find(context, name);
  if (!pending) return unknown_handler(context, "handlers retire", name);
  Document document = {
      {"dry_run", arguments.flag("dry-run")},    {"handler", name},           {"was_retired", pending->is_retired},
      {"configured_by", pending->configured_by}, {"events", pending->events}, {"backfill", pending->backfill}};
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  retire_handler(*context.connection, *pending, context.actor);
  // Read the state again: an ingest or replay that the retirement waited for may have added events.
  pending = find(context, name).value_or(*pending);
  document["dropped"] = drop(context, name, *pending);
  document["interrupted"] = pending->is_retired && has_pending(*pending);
  if (!pending->is_retired) {
    return {base::ExitCode::no, document, "handlers retire: " + name + " was restored meanwhile"};
  }
  if (!has_pending(*pending)) return {base::ExitCode::done, document, ""};
  return {base::ExitCode::try_again, document,
          "handlers retire: the handler is retired, but " + std::to_string(pending->events) +
              " events are left to drop; repeat the command for the rest"};
}

Answer functions::handlers_restore(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  auto pending = find(context, name);
  if (!pending) return unknown_handler(context, "handlers restore", name);
  Document document = {{"dry_run", arguments.flag("dry-run")},
                       {"handler", name},
                       {"was_retired", pending->is_retired},
                       {"configured_by", pending->configured_by}};
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  drop(context, name, *pending);  // the rest of an interrupted retirement, without the routing lock
  if (pending->is_retired && has_pending(*pending)) {
    return {base::ExitCode::try_again, nullptr,
            "handlers restore: the handler is still retired; " + std::to_string(pending->events) +
                " events are left to drop; repeat the command"};
  }
  if (pending->is_retired) restore_handler(*context.connection, pending->handler_id, context.actor);
  return {base::ExitCode::done, document, ""};
}

}  // namespace inboxd::operations
