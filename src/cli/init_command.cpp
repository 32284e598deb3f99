// `inboxd init`: looks at a topic and writes a configuration for it.
#include <filesystem>
#include <iostream>
#include <ostream>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/new_configuration.hpp"
#include "cli/new_file.hpp"
#include "cli/record_source.hpp"
#include "config/database_url.hpp"
#include "config/topics.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr const char* default_out = "inboxd.yaml";
constexpr const char* default_database = "postgresql://app@localhost/app";
constexpr const char* default_brokers = "localhost:9092";
constexpr std::int64_t records_of_partition = 100, max_records_of_partition = 1000;
constexpr std::int64_t mebibytes = 16, max_mebibytes = 1024;
constexpr std::int64_t seconds = 30, max_seconds = 600;

constexpr const char* connection_hint =
    "; here each of kafka.properties is an option: --kafka-property NAME=VALUE, and a secret NAME=file:PATH or "
    "NAME=env:NAME";

/// The option's value, or an answer at the terminal.
std::string ask_for(const Session& session, const operations::Arguments& arguments, const std::string& name,
                    const std::string& question, const std::string& usual) {
  if (auto given = arguments.text(name)) return *std::move(given);
  if (!session.output.can_ask) return "";
  session.output.messages << question << (usual.empty() ? "" : " [" + usual + "]") << ": " << std::flush;
  std::string line;
  std::getline(std::cin, line);
  return line.empty() ? usual : line;
}

base::Result<NewConfiguration> wanted_of(const Session& session, const operations::Arguments& arguments,
                                         const std::string& file) {
  NewConfiguration out;
  out.brokers = ask_for(session, arguments, "brokers", "Kafka's bootstrap brokers", default_brokers);
  out.topic = ask_for(session, arguments, "topic", "Topic", "");
  std::vector<std::string> missing;
  if (out.brokers.empty()) missing.push_back("--brokers");
  if (out.topic.empty()) missing.push_back("--topic");
  if (!missing.empty()) return base::Problem{"pass " + base::joined(missing)};
  const auto url = config::split_password(arguments.text("database").value_or(default_database));
  if (!url) return base::Problem{"--database: " + url.problem().message};
  out.database_url = url.value().url;
  out.has_password = url.value().password.has_value();
  for (const auto& text : arguments.texts("kafka-property")) {
    auto line = kafka_property(text, file);
    if (!line) return line.problem();
    out.kafka_properties.push_back(std::move(line).value());
  }
  return out;
}

EndLimits limits_of(const operations::Arguments& arguments) {
  return {arguments.number("records").value_or(records_of_partition),
          arguments.number("mebibytes").value_or(mebibytes) << 20,
          std::chrono::seconds{arguments.number("seconds").value_or(seconds)}};
}

/// The settings of the configuration without records, which checks what the person passed; the password is not needed
/// to read records.
std::optional<config::Loaded> draft_of(const Session& session, NewConfiguration wanted, const std::string& file) {
  wanted.has_password = false;
  const auto text = configuration_for(wanted, RecordSurvey{wanted.topic});
  const auto name = std::filesystem::path{file}.replace_filename("init");  // in the folder where its secrets begin
  auto loaded = config::load_text(text, name, config::process_environment(false, {}));
  for (const auto& problem : loaded.problems) session.say("init: " + problem.text());
  return loaded.ok() ? std::optional{std::move(loaded)} : std::nullopt;
}

void show(const Session& session, const NewConfiguration& wanted, const RecordSurvey& survey, const EndRead& took,
          const std::string& file) {
  if (session.json) {
    session.print({{"file", file}, {"topic", wanted.topic}, {"partitions", took.partitions},
                   {"records", survey.records()}, {"complete", !took.is_cut}, {"envelope", survey.envelope()},
                   {"saw", survey.sentences()}});
    return;
  }
  std::ostream& out = session.output.out;
  out << "topic " << one_line(wanted.topic) << ": looked at " << survey.records() << " records of " << took.partitions
      << (took.partitions == 1 ? " partition" : " partitions") << '\n';
  for (const auto& sentence : survey.sentences()) out << "  " << one_line(sentence) << '\n';
  if (survey.records() == 0) out << "  no records to look at: the file has the defaults\n";
  if (took.is_cut) out << "  the limit of bytes or time was reached first; see --mebibytes and --seconds\n";
  out << "wrote " << file << "; next: inboxd --config " << file << " migrate, then check\n" << std::flush;
}

ExitCode run_init(Session& session, const operations::Arguments& arguments) {
  const std::string file = arguments.text("out").value_or(default_out);
  if (!may_write(session, "init", file, arguments.flag("force"))) return ExitCode::no;
  const auto wanted = wanted_of(session, arguments, file);
  if (!wanted) {
    session.say("init: " + wanted.problem().message + "; see inboxd init -h");
    return ExitCode::usage;
  }
  const auto draft = draft_of(session, wanted.value(), file);
  if (!draft) return ExitCode::usage;
  RecordSurvey survey{wanted.value().topic};
  EndRead took;
  const auto take = [&](const event::Record& record, const std::string& log) { survey.add(record, log); };
  if (const auto problem =
          read_ends(draft->settings.kafka, wanted.value().topic, limits_of(arguments), take, took)) {
    const bool is_of_connection = problem->code == ExitCode::not_allowed || problem->code == ExitCode::unavailable;
    session.say("init: " + problem->message + (is_of_connection ? connection_hint : "") + "; no file was written");
    return problem->code;
  }
  const ExitCode code =
      write_new_file(session, "init", file, configuration_for(wanted.value(), survey), arguments.flag("force"));
  if (code == ExitCode::done) show(session, wanted.value(), survey, took, file);
  return code;
}

}  // namespace

Command init_command() {
  return {"init",
          "Looks at the newest records of a topic and writes a configuration for them, with comments. Prints counts, "
          "and no content. Asks for brokers and topic if they are not passed and a person can answer.",
          {{"init --brokers localhost:9092 --topic orders", "writes inboxd.yaml"},
           {"init --brokers kafka:9093 --topic orders --kafka-property security.protocol=ssl", "over TLS"},
           {"init --brokers kafka:9093 --topic orders --kafka-property security.protocol=sasl_ssl --kafka-property "
            "sasl.mechanism=SCRAM-SHA-512 --kafka-property sasl.username=app --kafka-property "
            "sasl.password=file:kafka-password",
            "with a login"}},
          {{"brokers", Kind::text, "the bootstrap brokers", "HOST:PORT,…"},
           {"topic", Kind::text, "the topic to look at", "NAME"},
           {"database", Kind::text, "the database for the inbox; a password is not written", "URL"},
           {"kafka-property", Kind::texts,
            "a property of librdkafka; a secret as env:NAME or file:PATH; repeat it for more", "NAME=VALUE"},
           {"out", Kind::text, "the file to write (inboxd.yaml)", "FILE"},
           {"force", Kind::flag, "replace the file if it exists"},
           {"records", Kind::number, "the most records of each partition", "N", Place::option, records_of_partition, 1,
            max_records_of_partition},
           {"mebibytes", Kind::number, "the most bytes of all records, in MiB", "N", Place::option, mebibytes, 1,
            max_mebibytes},
           {"seconds", Kind::number, "how long to read at most", "N", Place::option, seconds, 1, max_seconds}},
          run_init};
}

}  // namespace inboxd::cli
