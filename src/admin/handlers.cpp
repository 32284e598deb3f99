#include <algorithm>

#include "admin/answers.hpp"
#include "admin/operations.hpp"
#include "admin/status.hpp"
#include "base/text.hpp"
#include "inbox/operations_handlers.hpp"

namespace inboxd::admin {
namespace {

using std::chrono::milliseconds;

/// One transaction's worth: short enough that nobody waits for it.
constexpr int bite_deliveries = 2'000;
/// Until whoever is at a delivery has done with it.
constexpr milliseconds look_again{100};

Answer list(Context& context, const Arguments&) {
  Document handlers = Document::array();
  for (const auto& handler : inbox::read_handlers(*context.connection)) handlers.push_back(document_of(handler));
  Answer out;
  if (handlers.empty())
    out = {base::ExitCode::no, nullptr, "the database knows no handler yet; `inboxd run` adds them"};
  out.document = {{"handlers", std::move(handlers)}};
  return out;
}

Answer unknown(Context& context, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& handler : inbox::read_handlers(*context.connection)) names.push_back(handler.name);
  return {base::ExitCode::no, nullptr,
          "handlers retire: there is no handler " + name + (names.empty() ? "" : "; there are " + base::joined(names))};
}

bool is_owed(const inbox::HandlerOwed& handler) { return handler.events > 0 || handler.backfill > 0; }

/// Drops what a retired handler is owed, bite by bite; returns the events. `left` is what is left, where it is asked to
/// stop before the end or the handler is not retired any more.
std::int64_t drop(Context& context, const std::string& name, inbox::HandlerOwed& left) {
  const std::int64_t total = left.events;
  std::int64_t dropped = 0;
  while (left.is_retired && is_owed(left)) {
    const auto bite = inbox::forget_bite(*context.connection, left.handler_id, bite_deliveries);
    dropped += bite.events;
    left.events -= bite.events;
    context.progress({"dropped", std::min(dropped, total), total});
    // What a bite left out somebody is at, or a back-fill has just made: only a look tells whether that was all.
    if (bite.rows < bite_deliveries) left = inbox::find_owed(*context.connection, name, long_unseen).value_or(left);
    if (context.pause(bite.rows == 0 && is_owed(left) ? look_again : milliseconds{0})) break;
  }
  return dropped;
}

/// The document says so: what it tells of the handler is not what became of it.
Answer refused(Document& document, const std::string& why) {
  document["refused"] = true;
  return {base::ExitCode::no, document, "handlers retire: " + why};
}

bool is_kept(const inbox::HandlerOwed& handler, bool force) {
  return !force && !handler.is_retired && !handler.run_by.empty();
}

std::string run_by_text(const std::string& name, const inbox::HandlerOwed& handler) {
  return name + " is run by " + base::joined(handler.run_by) +
         "; take it out of the configuration there and reload first (a daemon says what it runs every ten seconds), "
         "or --force";
}

Answer retire(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("handler");
  auto owed = inbox::find_owed(*context.connection, name, long_unseen);
  if (!owed) return unknown(context, name);
  Document document = {{"dry_run", arguments.flag("dry-run")},
                       {"refused", false},
                       {"handler", name},
                       {"was_retired", owed->is_retired},
                       {"run_by", owed->run_by},
                       {"events", owed->events},
                       {"backfill", owed->backfill}};
  const bool force = arguments.flag("force");
  if (is_kept(*owed, force)) return refused(document, run_by_text(name, *owed));
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  const auto unless_seen = force ? std::nullopt : std::optional<std::chrono::seconds>{long_unseen};
  inbox::retire_handler(*context.connection, *owed, context.actor, unless_seen);
  // Again: whoever the retirement waited for, ingest or a replay, may have owed it more.
  owed = inbox::find_owed(*context.connection, name, long_unseen).value_or(*owed);
  if (is_kept(*owed, force)) {  // a daemon has taken it up since we looked
    document["run_by"] = owed->run_by;
    return refused(document, run_by_text(name, *owed));
  }
  document["dropped"] = drop(context, name, *owed);
  document["interrupted"] = owed->is_retired && is_owed(*owed);
  if (!owed->is_retired) {
    return refused(document, "a daemon that has " + name + " in its configuration has added it again meanwhile");
  }
  if (!is_owed(*owed)) return {base::ExitCode::done, document, ""};
  return {base::ExitCode::try_again, document,
          "handlers retire: it is retired; " + std::to_string(owed->events) +
              " events are left to drop, and the same command goes on with them"};
}

std::vector<Parameter> retire_parameters() {
  using Kind = Parameter::Kind;
  return {{"handler", Kind::text, "the handler's name", "NAME", Parameter::Place::word},
          {"force", Kind::flag, "also while daemons run it; one that starts or reloads with it adds it again"},
          dry_run_parameter(),
          yes_parameter()};
}

}  // namespace

std::vector<Operation> handler_operations() {
  return {{"handlers list",
           "Handlers as the database knows them, with what they subscribe to and have outstanding.",
           {{"handlers list", "all, those that nobody configures any more, too"}},
           Permission::read,
           Needs::database,
           {},
           list,
           answers::handlers_list},
          {"handlers retire",
           "Owes a handler nothing from now on, and drops what it was owed; what it has done stays on record.",
           {{"handlers retire receipt --dry-run", "what would be dropped"},
            {"handlers retire receipt", "once no configuration has it any more; asks first"}},
           Permission::change,
           Needs::database,
           retire_parameters(),
           retire,
           answers::handlers_retire}};
}

}  // namespace inboxd::admin
