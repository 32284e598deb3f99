// `inboxd import connect`: a JDBC sink connector's configuration as inboxd's.
#include <memory>
#include <ostream>

#include "cli/command.hpp"
#include "cli/import_connector.hpp"
#include "cli/new_file.hpp"
#include "config/database_url.hpp"
#include "inbox/answer.hpp"
#include "operations/table_columns.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;
using Place = operations::Parameter::Place;

constexpr const char* import_verb = "import connect";
/// Of a statement that reads a table's columns.
constexpr std::chrono::seconds columns_deadline{10};

/// Asks the database for columns, under the login's search path.
class ColumnReader final {
 public:
  explicit ColumnReader(const config::Database& settings) : connection_{settings, "import", watchdog_, log_} {
    connection_.keep_search_path();
    connection_.set_deadline(columns_deadline);
  }

  std::optional<std::vector<WrittenColumn>> find(const std::string& table) {
    std::vector<WrittenColumn> out;
    for (auto& column : operations::read_table_columns(connection_, table)) {
      out.push_back({column.name, column.type, column.is_key, column.name});
    }
    return out.empty() ? std::nullopt : std::optional{std::move(out)};
  }
  std::string where() const { return connection_.where(); }

 private:
  inbox::Watchdog watchdog_;
  base::Logger log_ = command_log();
  inbox::Connection connection_;
};

ExitCode show(Session& session, const operations::Arguments& arguments, const Imported& imported) {
  const auto file = arguments.text("out");
  if (session.json) {
    session.print({{"configuration", imported.yaml}, {"remarks", imported.remarks}});
  } else if (!file) {
    session.output.out << imported.yaml << std::flush;
  }
  if (file) {
    const ExitCode code = write_new_file(session, import_verb, *file, imported.yaml, arguments.flag("force"));
    if (code != ExitCode::done) return code;
  }
  const auto count = imported.remarks.size();
  if (count > 0) {
    session.say(std::string{import_verb} + ": " + std::to_string(count) +
                (count == 1 ? " thing was" : " things were") + " not translated; the file's comments say what to do");
  }
  if (file) {
    session.say(std::string{import_verb} + ": wrote " + *file + "; next: inboxd --config " + *file +
                " migrate, then check");
  }
  return ExitCode::done;
}

ExitCode refuse(const Session& session, const std::string& message, ExitCode code = ExitCode::no) {
  session.say(std::string{import_verb} + ": " + message);
  return code;
}

ExitCode run_import(Session& session, const operations::Arguments& arguments) {
  const auto file = arguments.text("out");
  if (file && !may_write(session, import_verb, *file, arguments.flag("force"))) return ExitCode::no;
  auto connector = Connector::read(*arguments.bytes("file"));
  if (!connector) return refuse(session, connector.problem().message);
  ImportOptions options;
  options.brokers = arguments.text("brokers").value_or("");
  std::unique_ptr<ColumnReader> columns;
  if (const auto url = arguments.text("database")) {
    auto split = config::split_password(*url);
    if (!split) return refuse(session, "--database: " + split.problem().message, ExitCode::usage);
    config::Database database;
    database.url = options.database_url = split.value().url;
    options.has_password = split.value().password.has_value();
    if (options.has_password) database.password = config::Secret{*split.value().password};
    columns = std::make_unique<ColumnReader>(database);
    options.find_columns = [&](const std::string& table) { return columns->find(table); };
  }
  std::optional<base::Result<Imported>> imported;
  const auto failure = inbox::database_failure_of(
      [&] { imported = import_connector(std::move(connector).value(), options); });
  if (failure) {
    const auto answer = operations::answer_for(*failure, columns->where());
    return refuse(session, answer.message, answer.code);
  }
  if (!*imported) return refuse(session, imported->problem().message);
  return show(session, arguments, imported->value());
}

}  // namespace

Command import_command() {
  return {import_verb,
          "Translates the configuration of a JDBC sink connector of Kafka Connect (Confluent's, Aiven's or "
          "Debezium's). Comments of the new file say how to replace all that is not translated. No password is copied.",
          {{"import connect sink.json --out inboxd.yaml", "its file, or the answer of GET /connectors/NAME"},
           {"import connect sink.json --database postgresql://app@localhost/app", "reads the columns of its tables"}},
          {{"file", Kind::bytes, "the connector's configuration, as JSON", "FILE", Place::word},
           {"out", Kind::text, "the file to write (default: standard output)", "FILE"},
           {"force", Kind::flag, "replace the file if it exists"},
           {"brokers", Kind::text, "the brokers, which are in the worker's configuration", "HOST:PORT,…"},
           {"database", Kind::text, "the database of the tables: their columns are read from it", "URL"}},
          run_import};
}

}  // namespace inboxd::cli
