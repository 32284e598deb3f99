#include "cli/import_connector.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "cli/connector_columns.hpp"
#include "cli/connector_remedies.hpp"
#include "cli/connector_tables.hpp"
#include "cli/connector_transforms.hpp"
#include "cli/new_configuration.hpp"
#include "cli/yaml_text.hpp"

namespace inboxd::cli {
namespace {

constexpr int default_batch = 500;
constexpr int max_events_per_call = 100'000;
constexpr int max_attempts = 10'000;

std::optional<int> number_in(const std::optional<std::string>& text, int least, int most) {
  int out = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), out).ec != std::errc{}) return std::nullopt;
  return std::clamp(out, least, most);
}

std::string quoted_setting(const std::string& value) { return base::json_quote(base::shorten(value, 100)); }

/// A handler's name made of a topic's or a connector's.
std::string handler_name(const std::string& text, std::set<std::string>& used) {
  std::string out;
  for (const char c : base::lower(text.substr(0, 50))) {
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  }
  if (out.empty() || std::isalpha(static_cast<unsigned char>(out.front())) == 0) out = "table_" + out;
  const std::string base_name = out;
  for (int i = 2; !used.insert(out).second; ++i) out = base_name + "_" + std::to_string(i);
  return out;
}

/// Translates a connector, step by step; each step takes its settings.
class Import final {
 public:
  Import(Connector connector, const ImportOptions& options) : connector_{std::move(connector)}, options_{options} {}

  base::Result<Imported> run() {
    for (const auto step : {&Import::read_database, &Import::read_transforms, &Import::read_rows, &Import::read_topics,
                            &Import::read_converters, &Import::read_failures}) {
      if (auto problem = (this->*step)()) return *std::move(problem);
    }
    std::string handlers;
    std::set<std::string> names;
    for (const auto& target : tables_.targets) {
      auto text = handler_text(target, names);
      if (!text) return text.problem();
      handlers += text.value();
    }
    std::string body = database_text() + kafka_text() + topics_text() + "\nhandlers:\n" + handlers;
    body.insert(0, head_text());  // after all remarks were made
    body += left_text();
    return Imported{std::move(body), std::move(remarks_)};
  }

 private:
  using Step = std::optional<base::Problem>;

  Step read_database() {
    const auto url = connector_.take("connection.url");
    const auto user = connector_.take("connection.user", "connection.username");
    has_password_ = connector_.take("connection.password").has_value() || options_.has_password;
    database_url_ = options_.database_url;
    if (!database_url_.empty() && (!url || !url->starts_with("jdbc:postgresql:"))) return std::nullopt;
    if (!url) return base::Problem{"there is no connection.url; pass --database URL"};
    auto read = read_jdbc_url(*url, user.value_or(""));
    if (!read) return read.problem();
    search_path_ = read.value().search_path;
    if (!database_url_.empty()) return std::nullopt;
    database_url_ = read.value().url;
    has_password_ = has_password_ || read.value().had_password;
    for (const auto& name : read.value().unknown) {
      remark("connection.url: parameter " + name + " of the driver was left out; write libpq's counterpart, if any");
    }
    return std::nullopt;
  }

  Step read_transforms() {
    transforms_ = cli::read_transforms(connector_);
    is_change_event_ = connector_.is_debezium() || transforms_.unwraps;
    write_.todo = transforms_.todo;
    for (const auto& sentence : transforms_.todo) remark(sentence + " of the statement");
    return std::nullopt;
  }

  Step read_topics() {
    auto tables = read_tables(connector_, transforms_.routers);
    if (!tables) return tables.problem();
    tables_ = std::move(tables).value();
    return std::nullopt;
  }

  /// The mode, the primary key and the columns.
  Step read_rows() {
    const std::string mode = connector_.take("insert.mode").value_or("insert");
    const std::string key_mode = connector_.take("pk.mode", "primary.key.mode").value_or("none");
    key_fields_ = connector_.take_list("pk.fields", "primary.key.fields");
    fields_ = connector_.take_list("fields.whitelist", "fields.whitelist");
    write_.deletes = connector_.take_flag("delete.enabled");
    write_.is_change_event = is_change_event_;
    write_.key_field = transforms_.key_field;
    write_.time_zone = connector_.take("db.timezone", "use.time.zone").value_or("UTC");
    if (mode == "upsert") write_.mode = InsertMode::upsert;
    else if (mode == "update") write_.mode = InsertMode::update;
    else if (mode != "insert") return base::Problem{"insert.mode is " + quoted_setting(mode) +
                                                      ", none of insert, upsert and update"};
    if (key_mode == "kafka") write_.key_source = KeySource::kafka;
    else if (key_mode == "record_key") write_.key_source = KeySource::record_key;
    else if (key_mode == "record_value") write_.key_source = KeySource::record_value;
    else if (key_mode != "none") return base::Problem{"pk.mode is " + quoted_setting(key_mode) +
                                                      ", none of none, kafka, record_key and record_value"};
    if (write_.key_source == KeySource::kafka && key_fields_.empty()) {
      key_fields_ = {"__connect_topic", "__connect_partition", "__connect_offset"};
    }
    if (write_.key_source == KeySource::kafka && key_fields_.size() != 3) {
      return base::Problem{"pk.mode kafka needs three pk.fields: for topic, partition and offset"};
    }
    if (write_.mode != InsertMode::insert && write_.key_source == KeySource::none) {
      return base::Problem{"insert.mode " + mode + " needs a primary key: set pk.mode"};
    }
    if (write_.deletes && write_.key_source != KeySource::record_key) {
      return base::Problem{"delete.enabled needs pk.mode record_key"};
    }
    return std::nullopt;
  }

  Step read_converters() {
    const std::string value = connector_.take("value.converter").value_or("");
    const std::string key = connector_.take("key.converter").value_or("");
    for (const char* const name : {"schemas.enable", "decimal.format", "schema.registry.url"}) {
      connector_.take(std::string{"key.converter."} + name);
      if (name != std::string_view{"schema.registry.url"}) connector_.take(std::string{"value.converter."} + name);
    }
    if (value.ends_with("AvroConverter")) read_registry("avro");
    else if (value.ends_with("ProtobufConverter")) read_registry("protobuf");
    else if (!value.empty() && !value.ends_with(".JsonConverter") && !value.ends_with(".JsonSchemaConverter"))
      remark("value.converter is " + base::shorten(value, 100) +
             ", but the statement reads JSON: see topics[].value.format in config/formats.md");
    if (write_.key_source != KeySource::record_key) return std::nullopt;
    if (key.ends_with(".StringConverter")) write_.key_format = KeyFormat::text;
    else if (key.empty()) remark("key.converter is that of the worker: the statement reads keys as JSON; if it is the "
                                 "StringConverter, replace k.v and k.v->… by to_jsonb(e.key), and delete the line that "
                                 "makes k");
    else if (!key.ends_with(".JsonConverter") && !key.ends_with(".JsonSchemaConverter"))
      remark("key.converter is " + base::shorten(key, 100) + ", but SQL sees such keys as bytes only (e.key_bytes): "
             "let the statement read the key's columns from e.body, and delete the line that makes k");
    return std::nullopt;
  }

  /// Values that are decoded with a registry's schema. An address may hold a password.
  void read_registry(const std::string& format) {
    const auto urls = items_of(connector_.take("value.converter.schema.registry.url").value_or(""));
    std::string url = "http://localhost:8081";
    if (!urls.empty() && urls.front().find('@') == std::string::npos) url = urls.front();
    else remark("topics[].value.registry.url is a placeholder: write the schema registry's address there, without user "
                "and password; see config/formats.md");
    value_format_ = "    value: {format: " + format + ", registry: {url: " + yaml_value(url) + "}}\n";
  }

  Step read_failures() {
    batch_ = number_in(connector_.take("batch.size"), 1, max_events_per_call).value_or(default_batch);
    if (write_.mode == InsertMode::insert && write_.deletes) batch_ = 1;  // a set has no order of its rows
    retries_ = number_in(connector_.take("max.retries", "flush.max.retries"), 0, max_attempts - 1);
    backoff_ms_ = number_in(connector_.take("retry.backoff.ms", "flush.retry.delay.ms"), 1, 7 * 86'400'000);
    dead_letter_topic_ = connector_.take("errors.deadletterqueue.topic.name").value_or("");
    if (connector_.take("errors.tolerance").value_or("none") == "none") {
      remark("errors.tolerance none: the connector stops at a record that it cannot write. inboxd makes a dead letter "
             "of it, and other keys carry on. To stop, too, add to the handler" +
             std::string{retry_text().empty() ? ": retry: {rules: [{error: \"sql.*\", then: pause}]}"
                                              : "'s retry: rules: [{error: \"sql.*\", then: pause}]"});
    }
    if (connector_.take_flag("auto.create")) makes_tables_ = true;
    if (connector_.take("schema.evolution").value_or("none") != "none") makes_tables_ = true;
    if (connector_.take_flag("auto.evolve")) {
      remark("auto.evolve: inboxd changes no tables. Before a producer adds a field: alter table … add column …, and a "
             "line in the statement");
    }
    return std::nullopt;
  }

  base::Result<std::vector<WrittenColumn>> find_columns(const ConnectorTables::Target& target) {
    return columns_of(target.table, {.find = options_.find_columns,
                                     .search_path = search_path_,
                                     .keys = key_fields_,
                                     .others = fields_,
                                     .mode = write_.mode,
                                     .key_source = write_.key_source,
                                     .transforms = transforms_,
                                     .folds_names = tables_.folds_names,
                                     .remark = [this](const std::string& text) { remark(text); }});
  }

  base::Result<std::string> handler_text(const ConnectorTables::Target& target, std::set<std::string>& names) {
    TableWrite write = write_;
    write.table = target.table;
    auto columns = find_columns(target);
    if (!columns) return columns.problem();
    write.columns = std::move(columns).value();
    if (makes_tables_ && !options_.find_columns) remark(table_remark(write));
    std::string topics;
    for (const auto& topic : target.topics) topics += (topics.empty() ? "" : ", ") + yaml_value(topic);
    std::string out = "  - name: " + handler_name(target.topics.empty() ? "sink" : target.topics.front(), names) + "\n";
    out += "    plugin: sql\n";
    out += topics.empty() ? "    subscribe: {}\n" : "    subscribe: {topics: [" + topics + "]}\n";
    const bool has_order = write.mode != InsertMode::insert || write.deletes || write.is_change_event;
    out += has_order ? "    missing_key: partition   # without a key: in the order of the partition, as the connector\n"
                     : "    mode: single             # inserts need no order\n";
    out += "    events_per_call: " + std::to_string(batch_) + "\n" + retry_text();
    if (!dead_letter_topic_.empty()) out += "    dead_letters: {topic: " + yaml_value(dead_letter_topic_) + "}\n";
    out += "    settings:\n      permanent: [\"22\", \"23\"]   # bad data: no retry can mend it\n";
    return out + "      statement: |\n" + yaml_block(statement_for(write), "        ");
  }

  /// The table that `auto.create` would make.
  static std::string table_remark(const TableWrite& write) {
    std::string columns, keys;
    for (const auto& column : write.columns) {
      columns += quoted_name(column.name) + " TYPE, ";
      if (column.is_key) keys += (keys.empty() ? "" : ", ") + quoted_name(column.name);
    }
    if (keys.empty()) columns.resize(columns.size() - 2);
    return "tables: inboxd makes none. The connector has made " + write.table + " if it ever ran; else make it: "
           "create table " + write.table + " (" + columns + (keys.empty() ? "" : "primary key (" + keys + ")") + ");";
  }

  std::string retry_text() const {
    if (!retries_ && !backoff_ms_) return "";
    std::string out = "    retry: {backoff: fixed";
    if (retries_) out += ", max_attempts: " + std::to_string(*retries_ + 1);
    const std::string delay = std::to_string(backoff_ms_.value_or(0)) + "ms";
    if (backoff_ms_) out += ", base: " + delay + ", cap: " + delay;
    return out + "}\n";
  }

  std::string database_text() const {
    std::string out = "\ndatabase:   # its tables, and the inbox, which `inboxd migrate` makes\n  url: " +
                      yaml_value(database_url_) + "\n";
    if (has_password_) out += password_line;
    if (!search_path_.empty()) out += "  handler_search_path: " + yaml_value(search_path_) + "\n";
    return out;
  }

  std::string kafka_text() {
    const std::string own = connector_.take("consumer.override.bootstrap.servers").value_or("");
    const std::string brokers = options_.brokers.empty() ? own : options_.brokers;
    if (brokers.empty()) remark("kafka.brokers is a placeholder: write the worker's bootstrap.servers there");
    if (connector_.name().empty()) remark("kafka.group: the file names no connector; its group is connect-NAME");
    const std::string name = connector_.name().empty() ? "NAME" : connector_.name();
    const std::string group = connector_.take("consumer.override.group.id").value_or("connect-" + name);
    return "\nkafka:\n  brokers: " + yaml_value(brokers.empty() ? "localhost:9092" : brokers) +
           "\n  group: " + yaml_value(group) + "   # the connector's: reading begins at its offsets; stop it first\n";
  }

  std::string topics_text() {
    std::string out = "\ntopics:\n";
    // As `committed`, but a partition without a committed offset begins at its end.
    const bool is_latest = connector_.take("consumer.override.auto.offset.reset").value_or("earliest") == "latest";
    const std::string start =
        is_latest ? "end   # auto.offset.reset latest; never after the group's offset" : "committed";
    const auto add = [&](const std::string& which, const std::string& name) {
      out += "  - " + which + ": " + yaml_value(name) + "\n    start: " + start + "\n";
      if (is_change_event_) out += "    envelope: debezium\n";
      out += value_format_;
      out += "    on_missing_id: position   # a row of a table has no event id: its place in Kafka is the id\n";
      const bool skips = transforms_.drops_tombstones || !write_.deletes;
      if (skips && !is_change_event_) out += "    tombstones: skip\n";
    };
    if (!tables_.pattern.empty()) add("pattern", tables_.pattern);
    for (const auto& topic : tables_.topics) add("name", topic);
    return out;
  }

  std::string head_text() const {
    std::string out =
        yaml_comment("Made by `inboxd import connect` from " + connector_.class_name() +
                     (connector_.name().empty() ? "" : " " + base::json_quote(connector_.name())) +
                     ". Cut-over and differences: config/coming-from-jdbc-sink.md. Test it with `inboxd check`.");
    if (remarks_.empty()) return out;
    out += "#\n# To do:\n";
    for (const auto& text : remarks_) out += yaml_comment("* " + text, "", "  ");
    return out;
  }

  std::string left_text() {
    std::string open, harmless;
    for (const auto& key : connector_.left()) {
      const auto remedy = remedy_for_setting(key);
      const std::string line = base::escape_controls(base::shorten(key, 200)) + ": " + remedy.text;
      (remedy.is_needed ? open : harmless) += yaml_comment("* " + line, "", "  ");
      if (remedy.is_needed) remarks_.push_back(line);
    }
    return (open.empty() ? "" : "\n# Not translated:\n" + open) +
           (harmless.empty() ? "" : "\n# Nothing to do about:\n" + harmless);
  }

  void remark(const std::string& text) {
    if (std::find(remarks_.begin(), remarks_.end(), text) == remarks_.end()) remarks_.push_back(text);
  }

  Connector connector_;
  const ImportOptions& options_;
  std::vector<std::string> remarks_;
  std::string database_url_, search_path_;
  bool has_password_ = false;
  bool is_change_event_ = false, makes_tables_ = false;
  Transforms transforms_;
  std::string value_format_;          ///< a line of each topic
  ConnectorTables tables_;
  TableWrite write_;
  std::vector<std::string> key_fields_, fields_;
  int batch_ = default_batch;
  std::optional<int> retries_, backoff_ms_;
  std::string dead_letter_topic_;
};

}  // namespace

base::Result<Imported> import_connector(Connector connector, const ImportOptions& options) {
  return Import{std::move(connector), options}.run();
}

}  // namespace inboxd::cli
