#include "cli/new_configuration.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "cli/yaml_text.hpp"
#include "config/secrets.hpp"

namespace inboxd::cli {
namespace {

std::string database_text(const NewConfiguration& wanted) {
  std::string out = "database:   # holds the inbox, in a schema that `inboxd migrate` makes\n  url: " +
                    yaml_value(wanted.database_url) + "\n";
  return out + (wanted.has_password ? password_line : "");
}

std::string kafka_text(const NewConfiguration& wanted) {
  std::string out = "\nkafka:\n  brokers: " + yaml_value(wanted.brokers) + "\n  group: " +
                    yaml_value(base::shorten("inboxd-" + wanted.topic, 249)) + "\n";
  if (!wanted.kafka_properties.empty()) out += "  properties:\n";
  for (const auto& line : wanted.kafka_properties) out += "    " + line + "\n";
  return out;
}

/// The lines on ids: only what the records need.
std::string ids_text(const RecordSurvey& survey) {
  if (!survey.lacks_ids()) return "";
  std::string out =
      "    on_missing_id: position   # its place in Kafka is a record's id: a resend by the producer is a new event\n";
  for (const auto& place : survey.id_places()) {
    out += "    # Each record has another value at " + place + ". If that is the event's id, resends are absorbed by:\n"
           "    #   envelope: custom\n    #   custom: {id: \"" + place + "\"}\n";
  }
  return out;
}

std::string topic_text(const NewConfiguration& wanted, const RecordSurvey& survey) {
  std::string out = "\ntopics:\n  - name: " + yaml_value(wanted.topic) + "\n";
  out += "    start: beginning   # or end: only records that come from now on\n";
  const std::string envelope = survey.envelope();
  if (envelope == "auto") out += "    envelope: auto     # tries the known formats in turn\n";
  else out += "    envelope: " + envelope + "   # as all records that were seen; auto would accept others, too\n";
  if (survey.needs_registry()) {
    // Active, and refused until the variable is set: events that are stored without a format have no body.
    out += "    # The values need their schema registry: set the variable, or write its address (config/formats.md).\n"
           "    value: {format: avro, registry: {url: \"${SCHEMA_REGISTRY_URL}\"}" +
           std::string{survey.is_apicurio() ? ", schema_id: apicurio" : ""} + "}   # or format: protobuf\n"
           "    # Change events of Debezium in Avro need envelope: debezium, which init cannot see.\n";
    if (survey.has_binary_keys()) {
      out += "    # Keys are not text: key is null in SQL, key_bytes has them.\n";
    }
  }
  return out + ids_text(survey);
}

std::string handler_text(const NewConfiguration& wanted, const RecordSurvey& survey) {
  std::string out = "\nhandlers:\n  - name: first\n    plugin: log   # a line for each event, to try things out\n"
                    "    subscribe: {topics: [" + yaml_value(wanted.topic) + "]}\n";
  if (survey.records() > 0 && survey.has_no_keys()) {
    out += "    mode: single   # no record has a key: there is no order to keep\n";
  } else if (survey.lacks_keys()) {
    out += "    missing_key: unordered   # records with a key run in their order, those without in no order\n";
  }
  if (survey.envelope() == "debezium") {
    return out + "  # A copy of the table: config/recipes/debezium-changes.md, or \"Change events of Debezium\" in\n"
                 "  # config/handlers/sql.md.\n";
  }
  out += "  # A handler that does something: plugin sql, http, kafka or exec (config/handlers/README.md), such as\n"
         "  # - name: copy\n  #   plugin: sql\n  #   subscribe: {topics: [" + yaml_value(wanted.topic) + "]}\n"
         "  #   settings:\n"
         "  #     statement: insert into copy (event_id, body) select event_id, body from events\n";
  return out;
}

/// A path as a secret of that configuration names it: relative to the configuration's folder.
std::string path_from(const std::string& configuration, const std::filesystem::path& path) {
  if (path.is_absolute()) return path;
  const auto folder = std::filesystem::absolute(configuration).parent_path();
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(path);
  // The file itself may be a link that is swapped when its secret is.
  const auto out = std::filesystem::proximate(whole.parent_path(), folder, ignored);
  return out.empty() ? whole : (out / whole.filename()).lexically_normal();
}

}  // namespace

base::Result<std::string> kafka_property(const std::string& text, const std::string& out) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return base::Problem{"--kafka-property takes NAME=VALUE, such as security.protocol=sasl_ssl"};
  }
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  for (const char* const kind : {"env", "file"}) {
    const std::string prefix = std::string{kind} + ":";
    if (!value.starts_with(prefix)) continue;
    std::string source = value.substr(prefix.size());
    if (kind == std::string_view{"file"}) source = path_from(out, source);
    return yaml_value(name) + ": {" + kind + ": " + yaml_value(source) + "}";
  }
  if (config::is_secret_property(name)) {
    return base::Problem{"--kafka-property " + base::escape_controls(name) + ": pass env:NAME or file:PATH in place of "
                         "the secret, as command lines and configurations are no place for it"};
  }
  return yaml_value(name) + ": " + yaml_value(value);
}

std::string configuration_for(const NewConfiguration& wanted, const RecordSurvey& survey) {
  std::string out =
      "# Made by `inboxd init`. Next: `inboxd migrate`, then check and run. config/inboxd.yaml has every key.\n";
  out += survey.records() == 0 ? "# Topic " + wanted.topic + " had no records to look at: these are the defaults.\n"
                               : "# The newest records of " + wanted.topic + ":\n";
  for (const auto& sentence : survey.sentences()) out += yaml_comment("* " + sentence, "", "  ");
  return out + "\n" + database_text(wanted) + kafka_text(wanted) + topic_text(wanted, survey) +
         handler_text(wanted, survey);
}

}  // namespace inboxd::cli
