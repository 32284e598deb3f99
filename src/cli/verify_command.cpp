// `inboxd verify`: database and log, compared.
#include <algorithm>
#include <charconv>
#include <map>
#include <ostream>

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/operation_command.hpp"
#include "cli/present.hpp"
#include "cli/progress_line.hpp"
#include "event/now.hpp"
#include "inbox/answer.hpp"
#include "verify/fetch.hpp"
#include "verify/verify.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;

/// Records of Kafka per second. Beside it ingest keeps nine tenths of its rate on two cores; the program reads six
/// times as many (bench `verify`).
constexpr std::int64_t default_rate = 50'000;

/// `1%`, `0.5%`: a share above 0 and up to 1.
std::optional<double> read_share(std::string text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.pop_back();
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc{} || end != text.data() + text.size() || !(percent > 0) || percent > 100) return std::nullopt;
  return percent / 100;
}

/// A problem with the arguments is a sentence.
base::Result<verify::Request> request_of(const operations::Arguments& arguments) {
  verify::Request out;
  if (const auto against = arguments.text("against")) {
    if (*against != "database" && *against != "kafka") return base::Problem{"--against takes database or kafka"};
    out.database = *against == "database";
    out.kafka = !out.database;
  }
  if (const auto sample = arguments.text("sample")) {
    const auto share = read_share(*sample);
    if (!share) return base::Problem{"--sample takes a share such as 1%"};
    out.sample = *share;
  }
  out.topics = arguments.texts("topic");
  out.rate = arguments.number("rate").value_or(default_rate);
  out.state_file = arguments.text("state").value_or("");
  out.limit = arguments.number("limit").value_or(100);
  if (!out.kafka && arguments.flag("fetch")) return base::Problem{"--fetch reads from Kafka: leave out --against"};
  if (out.sample < 1 && arguments.flag("fetch"))
    return base::Problem{"--fetch has to know each record that is read again: leave out --sample"};
  if (!out.kafka && !out.state_file.empty())
    return base::Problem{"--state keeps offsets of Kafka: leave out --against"};

  return out;
}

ExitCode code_of(const verify::Report& report) {
  if (report.found > 0 || report.has_problem()) return ExitCode::no;
  if (report.failure && report.failure->code == "usage") return ExitCode::usage;
  if (report.failure && report.failure->code == "no") return ExitCode::no;
  if (report.failure && report.failure->code == "refused") return ExitCode::not_allowed;
  if (report.failure) return ExitCode::unavailable;
  return report.interrupted ? ExitCode::try_again : ExitCode::done;
}

void show(const Session& session, const verify::Report& report, bool keeps_state) {
  const auto document = verify::document_of(report);
  const bool is_empty = report.failure && report.rules.empty() && report.partitions.empty();
  if (session.json)
    session.print(document);
  else if (!is_empty)
    session.output.out << present_verified(document, session.output.look) << std::flush;
  if (report.failure) session.say("verify: " + report.failure->message);
  if (report.interrupted) {
    session.say(std::string{"verify: interrupted; "} +
                (keeps_state ? "the next run continues" : "with --state FILE the next run continues"));
  }
}

/// Moves positions back to the first missing record of each partition, as `partitions seek` does, with its questions.
/// A position that moves meanwhile is left alone.
ExitCode fetch(const Session& session, inbox::Connection& connection, const verify::Report& report, bool yes) {
  auto table = operations::operations();
  const auto seek =
      std::find_if(table.begin(), table.end(), [](const auto& one) { return one.verb == "partitions seek"; });
  const Output& own = session.output;  // stdout has the report
  Session beside{{own.messages, own.messages, own.message_look, own.message_look, own.messages_are_seen, own.can_ask},
                 session.config_file,
                 false};
  ExitCode out = ExitCode::done;
  for (const auto& partition : report.partitions) {
    if (!partition.first_missing) continue;
    const std::string place = partition.topic + "/" + std::to_string(partition.partition);
    if (const auto problem = verify::problem_with_fetch(connection, partition); !problem.empty()) {
      session.say("verify --fetch: " + place + " is not read again: " + problem);
      out = ExitCode::no;
      continue;
    }
    const Command command =
        command_of(*seek, present_seek,
                   {{"shard_id", partition.shard_id}, {"epoch", partition.epoch}, {"to", *partition.first_missing}});
    std::map<std::string, std::vector<std::string>> given{{"topic", {partition.topic}},
                                                          {"partition", {std::to_string(partition.partition)}},
                                                          {"to", {std::to_string(*partition.first_missing)}}};
    if (yes) given["yes"] = {"true"};
    const auto arguments = operations::read_arguments(command.parameters, given, event::now());
    const auto code = command.run(beside, arguments.value());
    if (code != ExitCode::done) out = code;
  }
  return out;
}

ExitCode run_verify(Session& session, const operations::Arguments& arguments) {
  const auto request = request_of(arguments);
  if (!request) {
    session.say("verify: " + request.problem().message);
    return ExitCode::usage;
  }
  const auto loaded = session.load_with([](std::string_view key) {
    return key.starts_with("database.") || key.starts_with("kafka.") ||
           key.find(".registry.") != std::string_view::npos;
  });
  if (!loaded) return ExitCode::configuration;
  Interrupt interrupt;
  auto log = command_log();
  inbox::Connection connection{loaded->settings.database, "verify", interrupt.watchdog(), log};
  connection.set_deadline(verify::statement_deadline);
  verify::Report report;
  const auto failure = inbox::database_failure_of([&] {
    ProgressLine line{session.output};
    const verify::Surroundings around{connection, loaded->settings,
                                      [&](const operations::Progress& progress) { line.show(progress); },
                                      [&](std::chrono::milliseconds most) { return interrupt.wait(most); }};
    verify::run(around, request.value(), report);
  });
  if (failure) {
    const auto answer = operations::answer_for(*failure, connection.where());
    report.failure = base::Problem{answer.message};
    show(session, report, !request.value().state_file.empty());
    return report.found > 0 ? ExitCode::no : answer.code;
  }
  show(session, report, !request.value().state_file.empty());
  if (!arguments.flag("fetch") || report.interrupted || report.failure) return code_of(report);
  ExitCode code = ExitCode::done;
  const auto unfetched = inbox::database_failure_of(
      [&] { code = fetch(session, connection, report, arguments.flag("yes")); });
  if (unfetched) {
    const auto answer = operations::answer_for(*unfetched, connection.where());
    session.say("verify --fetch: " + answer.message);
    return answer.code;
  }
  return code != ExitCode::done ? code : code_of(report);
}

}  // namespace

Command verify_command() {
  return {"verify",
          "Shows that nothing is missing and nothing contradicts: each record of Kafka and each event of each handler.",
          {{"verify", "database and log; exit status 1 with each contradiction and the command that mends it"},
           {"verify --against database", "without Kafka"},
           {"verify --sample 1%", "a large log: the same hundredth each time"},
           {"verify --rate 0", "as fast as possible, which slows down ingest"},
           {"verify --against kafka --state /var/lib/inboxd/verified", "every night: from the last verified offset on"},
           {"verify --topic orders --fetch", "has missing records read again, after confirmation"}},
          {{"against", Kind::text, "only `database` or `kafka`", "WHAT"},
           {"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
           {"sample", Kind::text, "that share of the offsets, in blocks of 10,000: always the same blocks", "SHARE%"},
           {"rate",
            Kind::number,
            "at most N records of Kafka per second; 0: as fast as possible, and ingest is slower (default 50,000)",
            "N",
            operations::Parameter::Place::option,
            {},
            0,
            100'000'000},
           {"state", Kind::text, "continues after the offsets in this file, and writes them there", "FILE"},
           {"fetch", Kind::flag, "has daemons read missing records again, as `partitions seek` does"},
           operations::limit_parameter(100),
           operations::yes_parameter()},
          run_verify};
}

}  // namespace inboxd::cli
