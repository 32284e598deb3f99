#include "postgres_session.hpp"

#include <unistd.h>

#include <iostream>
#include <map>
#include <stdexcept>

namespace inboxd::bench {
namespace {

std::map<std::string, std::string> parts_of(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &error);
  if (options == nullptr) {
    const std::string message = error == nullptr ? "out of memory" : error;
    PQfreemem(error);
    throw std::runtime_error{"not a libpq URL: " + message};
  }
  std::map<std::string, std::string> parts;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) parts[option->keyword] = option->val;
  }
  PQconninfoFree(options);
  return parts;
}

std::string joined(const std::map<std::string, std::string>& parts) {
  std::string out;
  for (const auto& [keyword, value] : parts) out += (out.empty() ? "" : " ") + keyword + "='" + value + "'";
  return out;
}

std::string with_database(const std::string& url, const std::string& name) {
  auto parts = parts_of(url);
  parts["dbname"] = name;
  return joined(parts);
}

}  // namespace

std::string url_part(const std::string& url, std::string_view keyword) {
  const auto parts = parts_of(url);
  const auto found = parts.find(std::string{keyword});
  return found == parts.end() ? std::string{} : found->second;
}

PostgresSession::PostgresSession(const std::string& url) : raw_{PQconnectdb(url.c_str()), PQfinish} {
  if (PQstatus(raw_.get()) != CONNECTION_OK) {
    throw std::runtime_error{std::string{"PostgreSQL: "} + PQerrorMessage(raw_.get())};
  }
  run("set client_min_messages = warning");
}

PostgresSession::Result PostgresSession::checked(PGresult* result, const std::string& what) {
  Result owned{result, PQclear};
  const auto status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error{what + ": " + PQerrorMessage(raw_.get())};
  }
  return owned;
}

void PostgresSession::run(const std::string& sql) { checked(PQexec(raw_.get(), sql.c_str()), sql); }

std::vector<std::string> PostgresSession::column(const std::string& sql) {
  const auto result = checked(PQexec(raw_.get(), sql.c_str()), sql);
  std::vector<std::string> out;
  for (int i = 0; i < PQntuples(result.get()); ++i) out.emplace_back(PQgetvalue(result.get(), i, 0));
  return out;
}

std::string PostgresSession::text(const std::string& sql) {
  const auto rows = column(sql);
  if (rows.empty()) throw std::runtime_error{"no row: " + sql};
  return rows.front();
}

std::int64_t PostgresSession::number(const std::string& sql) {
  const auto value = text(sql);
  return value.empty() ? 0 : std::stoll(value);
}

double PostgresSession::real(const std::string& sql) {
  const auto value = text(sql);
  return value.empty() ? 0 : std::stod(value);
}

void PostgresSession::prepare(const std::string& name, const std::string& sql) {
  checked(PQprepare(raw_.get(), name.c_str(), sql.c_str(), 0, nullptr), sql);
}

PostgresSession::Result PostgresSession::call(const std::string& name,
                                              const std::vector<std::string_view>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(parameters.size(), 1);
  for (const auto parameter : parameters) {
    values.push_back(parameter.data());
    lengths.push_back(static_cast<int>(parameter.size()));
  }
  return checked(PQexecPrepared(raw_.get(), name.c_str(), static_cast<int>(parameters.size()), values.data(),
                                lengths.data(), formats.data(), 1),
                 name);
}

namespace {

/// A scenario may have several.
std::string scratch_name() {
  static int made = 0;
  return "inboxd_bench_" + std::to_string(getpid()) + "_" + std::to_string(++made);
}

}  // namespace

ScratchDatabase::ScratchDatabase(const std::string& server_url)
    : server_url_{server_url},
      name_{scratch_name()},
      url_{with_database(server_url, name_)} {
  PostgresSession server{server_url_};
  server.run("drop database if exists " + name_ + " with (force)");
  server.run("create database " + name_);
}

ScratchDatabase::~ScratchDatabase() {
  try {
    PostgresSession{server_url_}.run("drop database if exists " + name_ + " with (force)");
  } catch (const std::exception& error) {
    std::cerr << "the database " << name_ << " stays behind: " << error.what() << '\n';
  }
}

std::string ScratchDatabase::url_at(const std::string& host, int port) const {
  auto parts = parts_of(url_);
  parts["host"] = host;
  parts["port"] = std::to_string(port);
  return joined(parts);
}

}  // namespace inboxd::bench
