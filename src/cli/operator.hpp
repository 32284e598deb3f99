#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask_daemon.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress_line.hpp"
#include "cli/session.hpp"
#include "config/shared_topics.hpp"
#include "inbox/answer.hpp"
#include "inbox/connection.hpp"
#include "inbox/ingest_right.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// Runs a command's operations, with a connection of its own.
class Operator final {
 public:
  Operator(const Session& session, const operations::Operation& operation, const config::Settings& settings,
           Interrupt* interrupt)
      : session_{session}, operation_{operation}, settings_{settings}, log_{command_log()} {
    context_.name_space = settings.kafka.name_space;
    context_.topics = settings.topics;
    context_.retention = settings.retention;
    context_.filter_bytes = settings.ledger.filter_bytes;
    for (const auto& handler : settings.handlers) context_.handlers.push_back(handler.name);
    context_.actor = actor();
    context_.follows = true;
    if (interrupt != nullptr) {
      context_.pause = [interrupt](std::chrono::milliseconds most) { return interrupt->wait(most); };
    }
    if (operation.needs == operations::Needs::database) {
      if (interrupt == nullptr) watchdog_ = std::make_unique<inbox::Watchdog>();
      connection_ = std::make_unique<inbox::Connection>(
          settings.database, operation.verb, interrupt == nullptr ? *watchdog_ : interrupt->watchdog(), log_);
      context_.connection = connection_.get();
    }
  }

  /// Limits the next operation to the confirmed plan.
  void agree(operations::Document plan) { context_.agreed = std::move(plan); }

  operations::Answer ask(const operations::Arguments& arguments) {
    if (operation_.needs == operations::Needs::daemon) return ask_daemon(settings_, operation_, arguments);
    ProgressLine line{session_.output};
    context_.progress = [&](const operations::Progress& progress) { line.show(progress); };
    try {
      return operations::run(operation_, context_, arguments);
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());  // rethrows a bug
      return operations::answer_for(failure, connection_ ? connection_->where() : "");
    }
  }

  /// Refused if the database has another share of the topics than the configuration says: its rows would be taken for
  /// those of another database.
  operations::Answer ask_shard(const operations::Arguments& arguments) {
    std::string problem;
    const auto failure = inbox::database_failure_of([&] {
      const auto recorded = connection_ ? inbox::recorded_shard(*connection_) : std::nullopt;
      if (!recorded) return;
      problem =
          config::recorded_text(settings_.database.schema, {recorded->index, recorded->of}, settings_.shard);
    });
    if (!problem.empty()) return {base::ExitCode::configuration, nullptr, problem};
    if (failure) return operations::answer_for(*failure, connection_->where());
    return ask(arguments);
  }

 private:
  const Session& session_;
  const operations::Operation& operation_;
  const config::Settings& settings_;
  base::Logger log_;
  std::unique_ptr<inbox::Watchdog> watchdog_;  ///< null: that of the interrupt
  std::unique_ptr<inbox::Connection> connection_;
  operations::Context context_;
};

/// Reads of several operations, each with a connection of its own that stays open.
class Reader final {
 public:
  Reader(const Session& session, const config::Settings& settings, Interrupt& interrupt)
      : session_{session}, settings_{settings}, interrupt_{interrupt}, table_{operations::operations()} {}

  /// `given`: arguments by name, which must be valid.
  operations::Answer ask(const std::string& verb, const std::map<std::string, std::vector<std::string>>& given = {});

 private:
  const Session& session_;
  const config::Settings& settings_;
  Interrupt& interrupt_;
  const std::vector<operations::Operation> table_;
  std::map<std::string, std::unique_ptr<Operator>> open_;
};

}  // namespace inboxd::cli
