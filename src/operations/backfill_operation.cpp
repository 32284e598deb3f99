#include "operations/backfill_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/status_queries.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* backfill_verb = "handlers backfill";
constexpr std::chrono::milliseconds look_again{250};

Answer refuse_backfill(const std::string& message, base::ExitCode code = base::ExitCode::no) {
  return {code, nullptr, backfill_verb + (": " + message)};
}

BackfillRequest request_of(const Arguments& arguments, const BackfillState& state) {
  BackfillRequest out;
  out.handler_id = state.handler_id;
  out.from = arguments.time("from");
  out.to = arguments.time("to");
  out.topics = arguments.texts("topic");
  out.types = arguments.texts("type");
  out.again = arguments.flag("again");
  out.rate = arguments.number("rate");
  return out;
}

Document document_of(const Arguments& arguments, const BackfillState& state) {
  return {{"dry_run", arguments.flag("dry-run")},
          {"cancels", arguments.flag("cancel")},
          {"handler", *arguments.text("handler")},
          {"configured_by", state.configured_by},
          {"state", state.is_cancelled ? "cancelled"
                    : state.has_ended  ? "done"
                                       : "running"},
          {"offsets", state.offsets},
          {"left", state.left},
          {"events", state.events},
          {"dead_letters", state.dead_letters}};
}

Answer cancel(Context& context, const Arguments& arguments, BackfillState state) {
  const std::string name = *arguments.text("handler");
  if (state.left == 0) return refuse_backfill("no back-fill of " + name + " runs");
  if (!arguments.flag("dry-run")) {
    if (!cancel_backfill(*context.connection, state.handler_id, context.actor)) {
      return refuse_backfill("it has just ended");
    }
    state = find_backfill(*context.connection, name, live_within).value_or(state);
  }
  return {base::ExitCode::done, document_of(arguments, state), ""};
}

/// Shows the progress of the daemons until they are done. Interrupted, they carry on.
Answer follow(Context& context, const Arguments& arguments, BackfillState state) {
  const std::string name = *arguments.text("handler");
  while (!state.has_ended) {
    context.progress({"back-filled", state.offsets - state.left, state.offsets});
    if (context.pause(look_again)) {
      return {base::ExitCode::done, document_of(arguments, state),
              "the back-fill continues in the daemons; `inboxd status` shows it, `inboxd handlers backfill " + name +
                  " --cancel` ends it"};
    }
    const auto now = find_backfill(*context.connection, name, live_within);
    if (!now || now->is_retired) return refuse_backfill(name + " was retired meanwhile");
    state = *now;
  }
  return {base::ExitCode::done, document_of(arguments, state), ""};
}

}  // namespace

Answer functions::handlers_backfill(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  auto state = find_backfill(*context.connection, name, live_within);
  if (!state) return unknown_handler(context, backfill_verb, name);
  if (state->is_retired) {
    return refuse_backfill(name + " is retired; `inboxd handlers restore " + name + "` takes it back");
  }
  if (arguments.flag("cancel")) return cancel(context, arguments, *state);
  if (state->left > 0) {
    return refuse_backfill("a back-fill of " + name + " runs, with " + std::to_string(state->left) +
                  " offsets to go; wait for it, or pass --cancel to end it");
  }
  const BackfillRequest request = request_of(arguments, *state);
  if (request.from && request.to && *request.from >= *request.to) {
    return refuse_backfill("--from is not before --to", base::ExitCode::usage);
  }
  const std::int64_t offsets = count_offsets(*context.connection, request);
  if (offsets == 0) return refuse_backfill("no event of these topics is stored in that range");
  const bool is_dry = arguments.flag("dry-run");
  if (!is_dry && !request_backfill(*context.connection, request, context.actor, arguments.asked())) {
    return refuse_backfill("another operator was faster; look at `inboxd status`");
  }
  state->has_ended = state->is_cancelled = false;
  state->offsets = state->left = offsets;
  state->events = state->dead_letters = 0;
  if (is_dry || !context.follows || state->configured_by.empty()) {
    return {base::ExitCode::done, document_of(arguments, *state), ""};
  }
  return follow(context, arguments, *state);
}

}  // namespace inboxd::operations
