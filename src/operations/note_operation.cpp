#include "operations/dead_queries.hpp"
#include "operations/operation_table.hpp"
#include "operations/unknown_name.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr std::size_t max_note_bytes = 1'000;

Answer refused(const std::string& why) { return {base::ExitCode::usage, nullptr, "dead note: " + why}; }

}  // namespace

/// The newest note of a group counts; all of them stay in the audit.
Answer functions::dead_note(Context& context, const Arguments& arguments) {
  const auto handler = arguments.text("handler");
  const auto error_class = arguments.text("error");
  const std::string note = arguments.text("note").value_or("");
  if (!handler || !error_class) return refused("pass --handler NAME and --error CLASS, as dead list has them");
  if (note.size() > max_note_bytes) {
    return refused("a note has at most " + std::to_string(max_note_bytes) + " bytes; shorten it, or link to the rest");
  }
  DeadFilter filter;
  filter.handler = handler;
  filter.error_classes = {*error_class};
  const auto found = group_dead(*context.connection, filter, std::nullopt, 1);
  const bool is_it = !found.groups.empty() && found.groups[0].at("error_class") == *error_class;  // no pattern
  const std::int64_t letters = is_it ? found.letters : 0;
  const bool dry_run = arguments.flag("dry-run");
  Document document{{"dry_run", dry_run}, {"matched", letters}, {"handler", *handler}, {"error_class", *error_class},
                    {"note", note}};
  if (letters == 0) return nothing_matches(context, arguments, std::move(document), "no dead letter matches");
  if (dry_run) return {base::ExitCode::done, std::move(document), ""};
  const pqxx::params parameters{context.actor, arguments.asked(), *handler, *error_class, note};
  context.connection->access().run(inbox::statements::op_dead_note, parameters);
  return {base::ExitCode::done, std::move(document), ""};
}

}  // namespace inboxd::operations
