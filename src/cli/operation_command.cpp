#include "cli/operation_command.hpp"

#include <chrono>
#include <iostream>
#include <map>
#include <ostream>

#include "cli/ask_daemon.hpp"
#include "cli/interrupt.hpp"
#include "cli/operator.hpp"
#include "cli/shards.hpp"
#include "cli/value_text.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;

/// The login of the database, or of the daemon's admin port; changes may decode records with a registry's schema.
config::NeedsSecret secrets_for(const operations::Operation& operation) {
  return [&operation](std::string_view key) {
    if (operation.needs == operations::Needs::daemon) return key.starts_with("admin.");
    const bool is_of_registry = key.find(".registry.") != std::string_view::npos;
    const bool may_decode = operation.permission == operations::Permission::change;
    return key.starts_with("database.") || (may_decode && is_of_registry && key.starts_with("topics["));
  };
}

ExitCode show(const Session& session, const Answer& answer, Presenter presenter) {
  if (!answer.document.is_null()) {
    if (session.json)
      session.print(answer.document);
    else
      session.output.out << presenter(answer.document, session.output.look) << std::flush;
  }
  if (!answer.message.empty()) session.say(answer.message);
  return answer.code;
}

/// Shows the plan and asks for confirmation.
bool agrees(const Session& session, const std::string& plan, Interrupt& interrupt) {
  interrupt.lift();
  session.output.messages << plan << "Continue? [y/N] " << std::flush;
  std::string line;
  std::getline(std::cin, line);
  interrupt.restore();
  return line == "y" || line == "Y" || line == "yes";
}

/// A change: a dry run, a question, then the change.
ExitCode change(const Session& session, const operations::Operation& operation, const config::Settings& settings,
                operations::Arguments arguments, Presenter presenter, const operations::Document& agreed) {
  Interrupt interrupt;
  Operator worker{session, operation, settings, &interrupt};
  worker.agree(agreed);
  if (!arguments.flag("yes") && !arguments.flag("dry-run")) {
    arguments.set_flag("dry-run", true);
    Answer plan = worker.ask(arguments);
    if (plan.code != ExitCode::done) return show(session, plan, presenter);
    const std::string text = presenter(plan.document, session.output.message_look);
    if (!session.output.can_ask) {
      session.output.messages << text;
      session.say("Not a terminal: pass --yes to confirm.");
      return ExitCode::usage;
    }
    if (!agrees(session, operation.verb + ": " + text, interrupt)) {
      session.say(operation.verb + ": cancelled, nothing was changed");
      return ExitCode::no;
    }
    arguments.set_flag("dry-run", false);
    worker.agree(std::move(plan.plan));
  }
  return show(session, worker.ask(arguments), presenter);
}

ExitCode operate(const Session& session, const operations::Operation& operation, const operations::Arguments& arguments,
                 Presenter presenter, const operations::Document& agreed = nullptr) {
  if (!session.shards_file.empty()) {
    return read_shards(session, operation, arguments, presenter, secrets_for(operation));
  }
  config::Settings settings;
  if (operation.needs != operations::Needs::nothing) {
    const auto loaded = session.load_with(secrets_for(operation));
    if (!loaded) return ExitCode::configuration;
    settings = loaded->settings;
  }
  if (operation.permission == operations::Permission::change) {
    return change(session, operation, settings, arguments, presenter, agreed);
  }
  Operator worker{session, operation, settings, nullptr};
  return show(session, worker.ask(arguments), presenter);
}

}  // namespace

Command command_of(operations::Operation operation, Presenter presenter, operations::Document agreed) {
  Command out{operation.verb, operation.help, operation.examples, operation.parameters, {}, operation.aliases};
  out.reads_shards = operation.needs == operations::Needs::database &&
                     operation.permission != operations::Permission::change;
  out.run = [row = std::move(operation), presenter, plan = std::move(agreed)](Session& session,
                                                                              const operations::Arguments& arguments) {
    return operate(session, row, arguments, presenter, plan);
  };
  return out;
}

Command status_command(const operations::Operation& operation) {
  Command out = command_of(operation, present_status);
  out.parameters.push_back({"watch", operations::Parameter::Kind::flag,
                            "the whole screen, refreshed every two seconds, until q or Ctrl-C; in a pipe the text"});
  out.run = [row = operation](Session& session, const operations::Arguments& arguments) {
    if (arguments.flag("watch") && !session.shards_file.empty()) return refuse_shards(session, "status --watch");
    if (arguments.flag("watch")) return watch_status(session, arguments);
    return operate(session, row, arguments, present_status);
  };
  return out;
}

std::vector<Command> operation_commands() {
  const std::map<std::string, Presenter> presenters{{"events list", present_events},
                                                    {"events show", present_event},
                                                    {"events trace", present_trace},
                                                    {"events failures", present_failures},
                                                    {"events retry", present_event_change},
                                                    {"events skip", present_event_change},
                                                    {"events forget", present_forgotten},
                                                    {"dead list", present_dead_list},
                                                    {"dead show", present_dead},
                                                    {"dead replay", present_dead_change},
                                                    {"dead edit", present_dead_edit},
                                                    {"dead discard", present_dead_change},
                                                    {"dead note", present_note},
                                                    {"lanes list", present_lanes},
                                                    {"lanes release", present_lanes_change},
                                                    {"quarantine list", present_quarantine_list},
                                                    {"quarantine show", present_quarantine},
                                                    {"quarantine retry", present_quarantine_change},
                                                    {"quarantine discard", present_quarantine_change},
                                                    {"outbox list", present_outbox},
                                                    {"outbox retry", present_outbox_change},
                                                    {"outbox skip", present_outbox_change},
                                                    {"handlers list", present_handlers},
                                                    {"handlers pause", present_paused},
                                                    {"handlers resume", present_resumed},
                                                    {"handlers run", present_window_closed},
                                                    {"handlers backfill", present_backfill},
                                                    {"handlers retire", present_retired},
                                                    {"handlers restore", present_restored},
                                                    {"partitions list", present_partitions},
                                                    {"partitions accept-gap", present_accepted},
                                                    {"partitions accept-recreated", present_accepted},
                                                    {"partitions seek", present_seek},
                                                    {"audit list", present_audit},
                                                    {"history", present_history},
                                                    {"instance show", present_instance},
                                                    {"instance pause", present_instance_change},
                                                    {"instance resume", present_instance_change},
                                                    {"config reference", present_reference},
                                                    {"config schema", present_schema},
                                                    {"version", present_version}};
  std::vector<Command> out;
  for (auto& operation : operations::operations()) {
    if (operation.has_own_command) continue;
    if (operation.verb == "status")
      out.push_back(status_command(operation));
    else
      out.push_back(command_of(operation, presenters.at(operation.verb)));
  }
  return out;
}

}  // namespace inboxd::cli
