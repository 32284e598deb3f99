#include "cli/operate.hpp"

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>

#include "admin/failure.hpp"
#include "cli/ask_daemon.hpp"
#include "cli/interrupt.hpp"
#include "cli/words.hpp"
#include "inbox/connection.hpp"

namespace inboxd::cli {
namespace {

using admin::Answer;
using base::ExitCode;

constexpr auto refresh_every = std::chrono::seconds{2};
constexpr auto progress_every = std::chrono::seconds{10};

/// Tells how far something has come: on one line that is written over where a person watches, else a line now and then.
class ProgressLine final {
 public:
  explicit ProgressLine(const Output& output) : output_{output} {}
  ~ProgressLine() {
    if (is_open_) output_.messages << '\n' << std::flush;
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const admin::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_over = progress.done == progress.of;
    if (!output_.messages_are_seen && now < next_ && !is_over) return;
    next_ = now + progress_every;
    std::string line = progress.what + " " + number_text(progress.done);
    if (progress.of > 0) line += " of " + number_text(progress.of);
    if (output_.messages_are_seen) {
      output_.messages << '\r' << line << "\x1b[K" << std::flush;
      is_open_ = true;
    } else {
      output_.messages << line << '\n' << std::flush;
    }
  }

 private:
  const Output& output_;
  bool is_open_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + progress_every;
};

/// What one command needs to run operations: a connection of its own, and somebody to tell.
class Operator final {
 public:
  Operator(const Session& session, const admin::Operation& operation, const config::Settings& settings,
           Interrupt* interrupt)
      : session_{session}, operation_{operation}, settings_{settings}, log_{command_log()} {
    context_.name_space = settings.kafka.name_space;
    context_.actor = actor();
    if (interrupt != nullptr) {
      context_.pause = [interrupt](std::chrono::milliseconds most) { return interrupt->wait(most); };
    }
    if (operation.needs == admin::Needs::database) {
      if (interrupt == nullptr) watchdog_ = std::make_unique<inbox::Watchdog>();
      connection_ = std::make_unique<inbox::Connection>(
          settings.database, operation.verb, interrupt == nullptr ? *watchdog_ : interrupt->watchdog(), log_);
      context_.connection = connection_.get();
    }
  }

  /// What is asked next does no more than this plan.
  void agree(admin::Document plan) { context_.agreed = std::move(plan); }

  Answer ask(const admin::Arguments& arguments) {
    if (operation_.needs == admin::Needs::daemon) return ask_daemon(settings_, operation_, arguments);
    ProgressLine line{session_.output};
    context_.progress = [&](const admin::Progress& progress) { line.show(progress); };
    try {
      return operation_.function(context_, arguments);
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());  // a bug goes on from here
      return admin::answer_for(failure, connection_ ? connection_->where() : "");
    }
  }

 private:
  const Session& session_;
  const admin::Operation& operation_;
  const config::Settings& settings_;
  base::Logger log_;
  std::unique_ptr<inbox::Watchdog> watchdog_;  ///< where there is no interrupt, which has one
  std::unique_ptr<inbox::Connection> connection_;
  admin::Context context_;
};

ExitCode show(const Session& session, const Answer& answer, Presenter presenter) {
  if (!answer.document.is_null()) {
    if (session.json) session.print(answer.document);
    else session.output.out << presenter(answer.document, session.output.look) << std::flush;
  }
  if (!answer.message.empty()) session.say(answer.message);
  return answer.code;
}

/// Whether the person agrees with what would be done.
bool agrees(const Session& session, const std::string& plan, Interrupt& interrupt) {
  interrupt.lift();
  session.output.messages << plan << "go on? [y/N] " << std::flush;
  std::string line;
  std::getline(std::cin, line);
  interrupt.restore();
  return line == "y" || line == "Y" || line == "yes";
}

/// An operation that changes something: looks first, asks, then does it.
ExitCode change(const Session& session, const admin::Operation& operation, const config::Settings& settings,
                admin::Arguments arguments, Presenter presenter) {
  Interrupt interrupt;
  Operator worker{session, operation, settings, &interrupt};
  if (!arguments.flag("yes") && !arguments.flag("dry-run")) {
    arguments.set_flag("dry-run", true);
    Answer plan = worker.ask(arguments);
    if (plan.code != ExitCode::done) return show(session, plan, presenter);
    const std::string text = presenter(plan.document, session.output.message_look);
    if (!session.output.can_ask) {
      session.output.messages << text;
      session.say(operation.verb + ": nobody is there to ask; add --yes to do it");
      return ExitCode::usage;
    }
    if (!agrees(session, operation.verb + ": " + text, interrupt)) {
      session.say(operation.verb + ": nothing was done");
      return ExitCode::no;
    }
    arguments.set_flag("dry-run", false);
    worker.agree(std::move(plan.plan));
  }
  return show(session, worker.ask(arguments), presenter);
}

ExitCode operate(const Session& session, const admin::Operation& operation, const admin::Arguments& arguments,
                 Presenter presenter) {
  config::Settings settings;
  if (operation.needs != admin::Needs::nothing) {
    const auto loaded = session.load();
    if (!loaded) return ExitCode::configuration;
    settings = loaded->settings;
  }
  if (operation.permission == admin::Permission::change) {
    return change(session, operation, settings, arguments, presenter);
  }
  Operator worker{session, operation, settings, nullptr};
  return show(session, worker.ask(arguments), presenter);
}

/// Again and again until Ctrl-C. An unreachable database is shown and tried again: that is when one watches.
ExitCode watch(const Session& session, const admin::Operation& operation, const admin::Arguments& arguments) {
  if (session.json) {
    session.say("status: --watch is for people; leave --json out");
    return ExitCode::usage;
  }
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  Interrupt interrupt;
  Operator worker{session, operation, loaded->settings, &interrupt};
  const bool clears = session.output.look.width > 0;
  do {
    const Answer answer = worker.ask(arguments);
    if (interrupt.wait(std::chrono::milliseconds{0})) break;  // it may have been cut off
    std::string text = answer.document.is_null() ? "" : present_status(answer.document, session.output.look);
    if (!answer.message.empty()) text += in_tone(one_line(answer.message), Tone::bad, session.output.look) + "\n";
    session.output.out << (clears ? "\x1b[H\x1b[2J" : "") << text << (clears ? "" : "\n") << std::flush;
    if (answer.code != ExitCode::done && answer.code != ExitCode::unavailable && answer.code != ExitCode::try_again) {
      return answer.code;
    }
  } while (session.output.out.good() && !interrupt.wait(refresh_every));
  return ExitCode::done;
}

}  // namespace

Command command_of(admin::Operation operation, Presenter presenter) {
  Command out{operation.verb, operation.help, operation.examples, operation.parameters, {}};
  out.run = [row = std::move(operation), presenter](Session& session, const admin::Arguments& arguments) {
    return operate(session, row, arguments, presenter);
  };
  return out;
}

Command status_command(const admin::Operation& operation) {
  Command out = command_of(operation, present_status);
  out.parameters.push_back({"watch", admin::Parameter::Kind::flag, "again every two seconds, until Ctrl-C"});
  out.run = [row = operation](Session& session, const admin::Arguments& arguments) {
    return arguments.flag("watch") ? watch(session, row, arguments)
                                   : operate(session, row, arguments, present_status);
  };
  return out;
}

std::vector<Command> operation_commands() {
  const std::map<std::string, Presenter> presenters{{"events list", present_events},
                                                    {"events show", present_event},
                                                    {"events trace", present_trace},
                                                    {"dead list", present_dead_list},
                                                    {"dead show", present_dead},
                                                    {"dead replay", present_dead_change},
                                                    {"dead discard", present_dead_change},
                                                    {"quarantine list", present_quarantine_list},
                                                    {"quarantine show", present_quarantine},
                                                    {"handlers list", present_handlers},
                                                    {"handlers retire", present_retired},
                                                    {"shards list", present_shards},
                                                    {"shards accept-gap", present_accepted},
                                                    {"shards accept-incarnation", present_accepted},
                                                    {"instance show", present_instance},
                                                    {"instance pause", present_instance_change},
                                                    {"instance resume", present_instance_change},
                                                    {"config reference", present_reference},
                                                    {"config schema", present_schema},
                                                    {"version", present_version}};
  std::vector<Command> out;
  for (auto& operation : admin::operations()) {
    if (operation.has_own_command) continue;
    if (operation.verb == "status") out.push_back(status_command(operation));
    else out.push_back(command_of(operation, presenters.at(operation.verb)));
  }
  return out;
}

}  // namespace inboxd::cli
