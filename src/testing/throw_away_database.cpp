#include "testing/throw_away_database.hpp"

#include <chrono>
#include <utility>

#include "base/uuid.hpp"
#include "inbox/url_options.hpp"
#include "operations/sample_queries.hpp"

namespace inboxd::testing {
namespace {

constexpr std::chrono::seconds statement_timeout{60};

/// `key='value' …` of the server's address, with another database.
std::string with_database(const std::string& url, const std::string& name) {
  auto options = inbox::effective_options(url);
  options["dbname"] = name;
  std::string out;
  for (const auto& [key, value] : options) {
    if (value.empty()) continue;
    out += (out.empty() ? "" : " ") + key + "='";
    for (const char c : value) out.append(c == '\'' || c == '\\' ? "\\" : "").push_back(c);
    out += "'";
  }
  return out;
}

}  // namespace

ThrowAwayDatabase::ThrowAwayDatabase(std::string server_url, std::string name)
    : server_url_{std::move(server_url)}, name_{std::move(name)} {}

ThrowAwayDatabase::ThrowAwayDatabase(ThrowAwayDatabase&& other) noexcept
    : server_url_{std::move(other.server_url_)}, name_{std::exchange(other.name_, "")} {}

base::Result<ThrowAwayDatabase> ThrowAwayDatabase::create(const std::string& server_url, const std::string& pattern) {
  std::string name = "inboxd_test_";
  for (const char c : base::random_uuid().text().substr(0, 18)) {
    if (c != '-') name.push_back(c);
  }
  const std::string from = pattern.empty() ? "template0 encoding 'UTF8'" : pattern;
  const auto made =
      operations::run_sql(server_url, "create database " + name + " template " + from, statement_timeout);
  if (!made) return base::Problem{"a database for the tests cannot be created: " + made.problem().message};
  return ThrowAwayDatabase{server_url, name};
}

ThrowAwayDatabase::~ThrowAwayDatabase() {
  if (name_.empty()) return;
  static_cast<void>(operations::run_sql(server_url_, "drop database if exists " + name_ + " with (force)",
                                        statement_timeout));
}

std::string ThrowAwayDatabase::url() const { return with_database(server_url_, name_); }

}  // namespace inboxd::testing
