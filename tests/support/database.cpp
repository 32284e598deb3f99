#include "support/database.hpp"

#include <libpq-fe.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string with_schema(std::string_view sql, const std::string& schema) {
  static constexpr std::string_view ours = "inbox.";
  std::string out;
  for (std::size_t at = 0; at < sql.size();) {
    const auto found = std::min(sql.find(ours, at), sql.size());
    out.append(sql.substr(at, found - at));
    if (found == sql.size()) break;
    const bool inside =
        found > 0 && (isalnum(static_cast<unsigned char>(sql[found - 1])) != 0 || sql[found - 1] == '_');
    out.append(inside ? std::string{ours} : schema + ".");
    at = found + ours.size();
  }
  return out;
}

Session::Row row_of(const PGresult* result, int row) {
  Session::Row out;
  for (int column = 0; column < PQnfields(result); ++column) {
    if (PQgetisnull(result, row, column) != 0) {
      out.emplace_back();
    } else {
      out.emplace_back(
          std::string{PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))});
    }
  }
  return out;
}

}  // namespace

Session::Session(std::string url, std::string schema) : url_{std::move(url)}, schema_{std::move(schema)} {}

Session::~Session() { close(); }

void Session::close() {
  PQfinish(connection_);
  connection_ = nullptr;
}

pg_conn* Session::open() {
  if (connection_ != nullptr && PQstatus(connection_) == CONNECTION_OK) return connection_;
  close();
  connection_ = PQconnectdb(url_.c_str());
  if (PQstatus(connection_) != CONNECTION_OK) {
    const std::string message = PQerrorMessage(connection_);
    close();
    throw std::runtime_error{message};
  }
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  Result{PQexec(connection_, "set application_name = 'test'"), PQclear};
  return connection_;
}

std::vector<Session::Row> Session::rows(std::string_view sql, const Parameters& parameters) {
  const std::string text = with_schema(sql, schema_);
  pg_conn* const connection = open();
  Result result{nullptr, PQclear};
  if (parameters.empty()) {
    result.reset(PQexec(connection, text.c_str()));
  } else {
    std::vector<const char*> values;
    for (const auto& parameter : parameters) values.push_back(parameter ? parameter->c_str() : nullptr);
    result.reset(PQexecParams(connection, text.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                              nullptr, nullptr, 0));
  }
  const auto status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error{std::string{PQerrorMessage(connection)} + "in: " + text};
  }
  std::vector<Row> out;
  for (int row = 0; row < PQntuples(result.get()); ++row) out.push_back(row_of(result.get(), row));
  return out;
}

std::string Session::text(std::string_view sql, const Parameters& parameters) {
  const auto found = rows(sql, parameters);
  if (found.empty() || !found[0].at(0)) throw std::runtime_error{"no value: " + std::string{sql}};
  return *found[0][0];
}

std::int64_t Session::number(std::string_view sql, const Parameters& parameters) {
  return std::stoll(text(sql, parameters));
}

std::vector<std::string> Session::columns(std::string_view sql) {
  const Result result{PQexec(open(), with_schema(sql, schema_).c_str()), PQclear};
  std::vector<std::string> out;
  for (int column = 0; column < PQnfields(result.get()); ++column) out.emplace_back(PQfname(result.get(), column));
  return out;
}

bool Session::is_up() {
  try {
    run("select 1");
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void Session::wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within) {
  std::string last = "nothing";
  wait_until(
      what,
      [&] {
        try {
          last = text(sql);
        } catch (const std::runtime_error& error) {
          last = error.what();  // the tables may not exist yet
        }
        return last == std::to_string(wanted);
      },
      within, [&] { return "wanted " + std::to_string(wanted) + ", there is " + last; });
}

std::optional<std::string> in_german(const std::string& url) {
  const std::string german = url + "?options=-c%20lc_messages%3Dde_DE.UTF-8";
  try {
    Session{german, "inbox"}.run("select 1/0");
  } catch (const std::runtime_error& error) {
    if (std::string_view{error.what()}.find("FEHLER") != std::string_view::npos) return german;
  }
  return std::nullopt;
}

Database::Database() : Database{needed("INBOXD_TEST_PG")} {}

Database::Database(std::string url) : url_{std::move(url)}, schema_{random_name()}, session_{url_, schema_} {}

Database::~Database() {
  try {
    session_.run("set lock_timeout = '15s'");
    session_.run("set client_min_messages = error; drop schema if exists " + schema_ + " cascade");
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "schema %s stays behind: %s\n", schema_.c_str(), error.what());
  }
}

void apply_roles(const Database& database, const std::string& prefix) {
  Command command{{"psql", "-qX", "-v", "schema=" + database.schema()}};
  for (const std::string role : {"owner", "ingest", "worker", "reader", "monitor", "publisher", "enqueuer"}) {
    command.arguments.insert(command.arguments.end(), {"-v", role + "=" + prefix + "_" + role});
  }
  command.arguments.insert(command.arguments.end(), {"-f", "sql/roles.sql", database.url()});
  const auto finished = run_to_end(command);
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"sql/roles.sql: " + finished.err};
}

std::string url_with_port(const std::string& url, int port) {
  const auto colon = url.rfind(':');
  const auto slash = url.find('/', colon);
  return url.substr(0, colon + 1) + std::to_string(port) + (slash == std::string::npos ? "" : url.substr(slash));
}

int port_of(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

}  // namespace inboxd::support
