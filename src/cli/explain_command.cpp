// `inboxd explain`: how a record is read, by the code of ingest.
#include <charconv>
#include <limits>
#include <ostream>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/present.hpp"
#include "cli/record_source.hpp"
#include "config/topics.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/answer.hpp"
#include "inbox/connection.hpp"
#include "operations/explain_record.hpp"
#include "operations/key_argument.hpp"
#include "operations/quarantine_queries.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr std::int64_t max_records = 100;
/// Of the statement that reads a quarantined record.
constexpr std::chrono::seconds statement_deadline{10};

/// `PARTITION/OFFSET`.
struct PartitionOffset {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
};
std::optional<PartitionOffset> read_place(const std::string& text) {
  PartitionOffset out;
  const char* const end = text.data() + text.size();
  const auto partition = std::from_chars(text.data(), end, out.partition);
  if (partition.ec != std::errc{} || partition.ptr == end || *partition.ptr != '/') return std::nullopt;
  const auto offset = std::from_chars(partition.ptr + 1, end, out.offset);
  if (offset.ec != std::errc{} || offset.ptr != end || out.partition < 0 || out.offset < 0) return std::nullopt;
  return out;
}

/// For a registry's answer.
constexpr std::chrono::seconds schema_patience{10};

/// The problem with the combination of arguments, or empty.
std::string usage_problem(const operations::Arguments& arguments) {
  const bool is_file = arguments.bytes("file").has_value();
  const int sources = is_file + arguments.text("offset").has_value() + arguments.number("last").has_value() +
                      arguments.number("quarantine").has_value();
  if (sources != 1) return "pass one of --offset, --last, --quarantine or FILE";
  if (arguments.number("quarantine")) {
    if (arguments.text("topic")) return "--quarantine knows the topic: leave out --topic";
  } else if (!arguments.text("topic")) {
    return "pass --topic, whose rules read the record";
  }
  const bool has_parts =
      !arguments.texts("header").empty() || arguments.text("key") || arguments.text("key-hex");
  if (has_parts && !is_file) return "--header and --key belong to FILE: a record of Kafka has its own";
  return "";
}

/// Explains records and prints them all at the end.
class Explainer final {
 public:
  Explainer(Session& session, const config::Settings& settings, bool with_body)
      : session_{session}, settings_{settings}, topics_{settings.topics}, with_body_{with_body} {}

  const config::Topic* find_topic(const std::string& name) const { return topics_.find(name); }

  void add(const event::Record& record, const std::string& log) {
    const config::Topic* const topic = topics_.find(std::string{record.topic});
    if (topic == nullptr) return;
    records_.push_back(operations::explain_record(
        record, {*topic, settings_.kafka.name_space, log, decoders_.of(*topic)}, settings_.handlers, with_body_));
  }

  void show() const {
    const operations::Document document{{"records", records_}};
    if (session_.json) session_.print(document);
    else session_.output.out << present_explained(document, session_.output.look) << std::flush;
  }

 private:
  Session& session_;
  const config::Settings& settings_;
  const config::Topics topics_;
  const bool with_body_;
  formats::Decoders decoders_{schema_patience};
  operations::Document records_ = operations::Document::array();
};

std::string not_configured(const std::string& topic) {
  return "no entry of topics in the configuration has the name " + base::json_quote(base::shorten(topic, 100)) +
         " or a pattern for it";
}

/// The record that FILE, --header and --key describe.
std::optional<NoRecord> explain_file(const operations::Arguments& arguments, Explainer& explainer) {
  const std::string topic = *arguments.text("topic"), value = *arguments.bytes("file");
  const auto typed_key = operations::read_key("explain", arguments);
  if (typed_key.refusal) return NoRecord{typed_key.refusal->code, typed_key.refusal->message};
  const auto headers = arguments.texts("header");
  event::Record record;
  record.topic = topic;
  record.offset = -1;
  record.payload = value;
  if (typed_key.key) record.key = *typed_key.key;
  for (const std::string& text : headers) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return NoRecord{ExitCode::usage, "--header " + base::json_quote(base::shorten(text, 100)) + ": pass NAME=VALUE"};
    }
    record.headers.push_back({std::string_view{text}.substr(0, equals), std::string_view{text}.substr(equals + 1)});
  }
  explainer.add(record, "");
  return std::nullopt;
}

std::optional<NoRecord> explain_quarantined(const config::Settings& settings, std::int64_t number,
                                            Explainer& explainer) {
  inbox::Watchdog watchdog;
  auto log = command_log();
  inbox::Connection connection{settings.database, "explain", watchdog, log};
  connection.set_deadline(statement_deadline);
  std::optional<NoRecord> out;
  const auto failure = inbox::database_failure_of([&] {
    const auto picked = operations::pick_quarantined(connection, {{}, {}, {}, {number}}, 1);
    const auto records = operations::read_quarantined(connection, {number});
    if (picked.empty() || records.empty()) {
      out = {ExitCode::no, "quarantine has no record " + std::to_string(number) + "; see `inboxd quarantine list`"};
    } else if (!picked.front().was_kept) {
      out = {ExitCode::no, "record " + std::to_string(number) + " was too large to keep; while Kafka has it, use "
                           "--topic and --offset"};
    } else if (explainer.find_topic(records.front().topic) == nullptr) {
      out = {ExitCode::no, not_configured(records.front().topic)};
    } else {
      explainer.add(operations::record_of(records.front()), records.front().log_id);
    }
  });
  if (!failure) return out;
  const auto answer = operations::answer_for(*failure, connection.where());
  return NoRecord{answer.code, answer.message};
}

std::optional<NoRecord> explain(const operations::Arguments& arguments, const config::Settings& settings,
                                Explainer& explainer) {
  if (const auto number = arguments.number("quarantine")) return explain_quarantined(settings, *number, explainer);
  const std::string topic = *arguments.text("topic");
  if (explainer.find_topic(topic) == nullptr) return NoRecord{ExitCode::no, not_configured(topic)};
  if (arguments.bytes("file")) return explain_file(arguments, explainer);
  const auto take = [&](const event::Record& record, const std::string& log) { explainer.add(record, log); };
  if (const auto last = arguments.number("last")) return read_newest(settings.kafka, topic, *last, take);
  const auto place = read_place(*arguments.text("offset"));
  if (!place) return NoRecord{ExitCode::usage, "--offset takes PARTITION/OFFSET, such as 3/81723"};
  return read_record(settings.kafka, topic, place->partition, place->offset, take);
}

bool needs_login(const config::Settings& settings, const std::optional<std::string>& name) {
  const config::Topics topics{settings.topics};
  const config::Topic* const topic = name ? topics.find(*name) : nullptr;
  if (topic == nullptr) return false;
  return !topic->value.registry.url.empty() || !topic->key.registry.url.empty();
}

ExitCode run_explain(Session& session, const operations::Arguments& arguments) {
  if (const std::string problem = usage_problem(arguments); !problem.empty()) {
    session.say("explain: " + problem + "; see inboxd explain -h");
    return ExitCode::usage;
  }
  // A file needs no secrets, but for the login of a schema registry.
  auto loaded = session.load(arguments.bytes("file").has_value());
  if (loaded && needs_login(loaded->settings, arguments.text("topic"))) loaded = session.load(false);
  if (!loaded) return ExitCode::configuration;
  Explainer explainer{session, loaded->settings, !arguments.flag("no-body")};
  if (const auto problem = explain(arguments, loaded->settings, explainer)) {
    session.say("explain: " + problem->message);
    return problem->code;
  }
  explainer.show();
  return ExitCode::done;
}

}  // namespace

Command explain_command() {
  std::vector<operations::Parameter> parameters{
      {"file", Kind::bytes, "the value of a record, instead of a record of Kafka", "FILE", Place::optional_word},
      {"topic", Kind::text, "the topic, whose rules read the record", "NAME"},
      {"offset", Kind::text, "the record at this place", "PARTITION/OFFSET"},
      {"last", Kind::number, "the newest N records, up to 100", "N", Place::option, {}, 1, max_records},
      {"quarantine", Kind::number, "a quarantined record; needs the database", "NUMBER", Place::option, {}, 1,
       std::numeric_limits<std::int64_t>::max()},
      {"header", Kind::texts, "a header of the record in FILE; repeat it for more", "NAME=VALUE"}};
  for (auto& parameter : operations::key_parameters()) parameters.push_back(std::move(parameter));
  parameters.push_back({"no-body", Kind::flag, "leaves out the body: by default this prints the payload"});
  return {"explain",
          "Shows how a record is read: each rule that was tried and why, the event's id, type and times, its handlers, "
          "and its body. Prints payload.",
          {{"explain --topic orders --offset 3/81723", "a record of Kafka; needs no database"},
           {"explain --topic orders --last 3 --no-body", "the newest records, without their payload"},
           {"explain --quarantine 17", "a record in quarantine, by today's rules"},
           {"explain --topic orders value.json --header id=42", "a file; needs no servers"}},
          std::move(parameters),
          run_explain};
}

}  // namespace inboxd::cli
