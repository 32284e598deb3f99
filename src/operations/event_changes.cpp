#include <algorithm>

#include "operations/documents.hpp"
#include "operations/event_operations.hpp"
#include "operations/find_event.hpp"
#include "operations/operation_table.hpp"
#include "operations/stored_event.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

/// A change of an event for a handler.
struct Change {
  std::string verb;  ///< `events skip`
  std::string past;  ///< `skipped`
  std::optional<std::string> reason;
};

Answer refuse_change(const Arguments& arguments, Document document, const std::string& message,
              base::ExitCode code = base::ExitCode::no) {
  document["dry_run"] = arguments.flag("dry-run");
  return {code, std::move(document), message};
}

Answer several(Context& context, const Arguments& arguments, const std::string& verb, const FoundEvents& found) {
  Document events = Document::array();
  for (const auto& place : found.places) {
    if (const auto event = read_event(*context.connection, place)) events.push_back(summary_of(*event));
  }
  return refuse_change(arguments, {{"events", std::move(events)}},
                verb + ": " + std::to_string(found.places.size()) + " events have the id \"" + *arguments.text("id") +
                    "\"; pass an event_id");
}

std::string explain_state(const std::string& state, const OpenDelivery& delivery) {
  if (delivery.waits_for == "deliver_at") return "it waits for its deliver_at, which no command brings forward";
  if (delivery.waits_for == "key") return "it waits for an earlier event of its key; retry that event";
  if (delivery.waits_for == "window") return "it waits for its window";
  if (state == "due") return "it is due";
  return "it is " + state;
}

Answer about_leased(const Arguments& arguments, const Change& change, const Document& document) {
  return refuse_change(arguments, document,
                change.verb +
                    ": the event is leased and may be running; try again later, or pause the "
                    "handler first: inboxd handlers pause",
                base::ExitCode::try_again);
}

Answer about_none(Context& context, const Arguments& arguments, const Change& change, const std::string& handler) {
  const auto known = handler_names(context);
  Document document = Document::object();
  if (std::find(known.begin(), known.end(), handler) == known.end()) {
    const UnknownName unknown = unknown_name("handler", handler, known);
    suggest(unknown, document);
    return refuse_change(arguments, std::move(document), change.verb + ": " + unknown.sentence);
  }
  return refuse_change(
      arguments, std::move(document),
      change.verb + ": the event is not pending for handler \"" + handler + "\"; `inboxd events show` has its state");
}

Answer change_one(Context& context, const Arguments& arguments, const Change& change, const EventPlace& place) {
  const std::string handler = *arguments.text("handler");
  const auto all =
      read_deliveries(*context.connection, {place.event_id, place.shard_id, place.offset, std::nullopt, std::nullopt});
  const auto mine = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.handler == handler; });
  if (mine == all.end()) return about_none(context, arguments, change, handler);
  const std::string state = state_text(*mine);
  Document document = {{"dry_run", arguments.flag("dry-run")},
                       {"event_id", place.event_id.text()},
                       {"handler", handler},
                       {"state", state},
                       {"attempts", mine->attempts},
                       {"due_at", time_of(mine->due_at)},
                       {"last_error", text_of(mine->last_error)}};
  if (state == "leased") return about_leased(arguments, change, document);
  if (!change.reason && state != "retrying") {
    return refuse_change(arguments, document,
                         change.verb + ": the event does not wait for a retry: " + explain_state(state, *mine));
  }
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  switch (
      change_event(*context.connection, place, mine->delivery_id, change.reason, {context.actor, arguments.asked()})) {
    case EventChange::done:
      document[change.past] = true;
      return {base::ExitCode::done, document, ""};
    case EventChange::leased:
      return about_leased(arguments, change, document);
    case EventChange::otherwise:
      return refuse_change(arguments, document, change.verb + ": the event does not wait for a retry any more");
    case EventChange::purged:
      return refuse_change(arguments, document,
                    change.verb +
                        ": the event was purged, so its content cannot become a dead letter; its handler "
                        "settles it as skipped");
    case EventChange::gone:
      break;
  }
  return refuse_change(arguments, document, change.verb + ": the event's state has changed meanwhile; try again",
                base::ExitCode::try_again);
}

Answer change_found(Context& context, const Arguments& arguments, const Change& change) {
  if (!arguments.text("handler")) return {base::ExitCode::usage, nullptr, change.verb + ": pass --handler NAME"};
  const auto found = find_events(context, *arguments.text("id"));
  if (found.places.empty()) {
    return refuse_change(arguments, {{"events", Document::array()}},
                  change.verb + ": no event with the id \"" + *arguments.text("id") + "\"" +
                      (found.hint.empty() ? "" : ": " + found.hint));
  }
  if (found.places.size() > 1) return several(context, arguments, change.verb, found);
  return change_one(context, arguments, change, found.places.front());
}

/// Of a handler, in batches. Deliveries that fail again meanwhile are not retried twice: as many as there were at the
/// start are the bound.
Answer retry_all(Context& context, const Arguments& arguments, const std::string& handler) {
  const auto classes = arguments.texts("error");
  auto& connection = *context.connection;
  const auto waiting = retry_waiting(connection, handler, classes, context.max_rows, true);
  Document document = {{"dry_run", arguments.flag("dry-run")}, {"handler", handler}, {"matched", waiting.events}};
  if (waiting.events == 0) {
    const auto known = handler_names(context);
    if (std::find(known.begin(), known.end(), handler) == known.end()) {
      return about_none(context, arguments, {"events retry", "retried", std::nullopt}, handler);
    }
    return {base::ExitCode::no, std::move(document), "events retry: no event of handler " + handler +
                                                         " waits for a retry" +
                                                         (classes.empty() ? "" : " with such an error")};
  }
  if (arguments.flag("dry-run")) return {base::ExitCode::done, std::move(document), ""};
  std::int64_t events = 0;
  const auto retry = [&](std::int64_t begin, std::int64_t end) {
    const auto batch = retry_waiting(connection, handler, classes, end - begin, false);
    events += batch.events;
    return batch.deliveries == 0 ? waiting.deliveries : begin + batch.deliveries;
  };
  const bool is_stopped = in_batches(context, {"retried"}, waiting.deliveries, retry);
  write_audit(connection, context.actor, "events retry", arguments.asked());
  document["matched"] = events;
  document["retried"] = events > 0;
  if (is_stopped) return {base::ExitCode::try_again, std::move(document), "events retry: stopped; repeat the command"};
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace

Answer functions::events_retry(Context& context, const Arguments& arguments) {
  const auto handler = arguments.text("handler");
  if (!arguments.text("id") && handler) return retry_all(context, arguments, *handler);
  if (!arguments.text("id")) return {base::ExitCode::usage, nullptr, "events retry: pass an ID, or --handler NAME"};
  if (!arguments.texts("error").empty()) {
    return {base::ExitCode::usage, nullptr, "events retry: --error is for all events of a handler; leave ID out"};
  }
  return change_found(context, arguments, {"events retry", "retried", std::nullopt});
}

Answer functions::events_skip(Context& context, const Arguments& arguments) {
  const auto reason = arguments.text("reason");
  if (!reason || reason->empty()) {
    return {base::ExitCode::usage, nullptr, "events skip: pass --reason TEXT; the dead letter keeps it"};
  }
  return change_found(context, arguments, {"events skip", "skipped", reason});
}

}  // namespace inboxd::operations
