#include "testing/run_tests.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "consumer/batch.hpp"
#include "inbox/answer.hpp"
#include "inbox/migrations.hpp"
#include "kafka/local_brokers.hpp"
#include "testing/answer_server.hpp"
#include "testing/case_run.hpp"
#include "testing/private_server.hpp"
#include "testing/test_settings.hpp"
#include "testing/throw_away_database.hpp"

namespace inboxd::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// Sessions besides the daemon's.
constexpr int other_sessions = 20;

OwnBytes bytes_of(const void* data, std::size_t size) {
  return data == nullptr ? OwnBytes{} : OwnBytes{std::string{static_cast<const char*>(data), size}};
}

operations::OutgoingMessage message_of(const rd_kafka_message_t& message) {
  base::Arena arena;
  const auto record = consumer::record_of(message, {}, arena);
  operations::OutgoingMessage out{std::string{record.topic}, bytes_of(message.key, message.key_len),
                                  bytes_of(message.payload, message.len), {}};
  for (const auto& [name, value] : record.headers) {
    out.headers.emplace_back(name, value ? OwnBytes{std::string{*value}} : std::nullopt);
  }
  return out;
}

/// All cases of a file, on a server.
class Suite final {
 public:
  Suite(const TestFile& file, const config::Loaded& loaded, const TestRequest& request, base::Logger& log)
      : file_{file}, loaded_{loaded}, request_{request}, log_{log}, answers_{log} {}

  std::optional<base::Problem> prepare() {
    server_url_ = request_.database;
    if (server_url_.empty()) {
      auto started = PrivateServer::start(loaded_.settings.database.connections + other_sessions);
      if (!started) return started.problem();
      server_ = std::move(started).value();
      server_url_ = server_->url();
    }
    auto created = ThrowAwayDatabase::create(server_url_);
    if (!created) return created.problem();
    pattern_.emplace(std::move(created).value());
    if (auto problem = migrate()) return problem;
    if (auto problem = run_scripts(file_.setup, pattern_->url())) return problem;
    return answers_.start();
  }

  CaseResult run(const Case& what) {
    const auto began = Clock::now();
    CaseResult out{what.name, {}, {}, false};
    std::optional<std::string> failed;
    const auto failure = inbox::failure_of([&] { failed = run(what, began + request_.timeout, out); });
    if (failure) failed = "the database: " + failure->message;
    if (failed) out.differences.push_back(*failed);
    out.duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    return out;
  }

 private:
  std::optional<base::Problem> migrate() {
    config::Database database = loaded_.settings.database;
    database.url = pattern_->url();
    database.password = {};
    inbox::Watchdog watchdog;
    inbox::Connection connection{database, "test", watchdog, log_};
    std::optional<base::Problem> out;
    const auto failure = inbox::failure_of([&] {
      const auto migrated = inbox::migrate(connection, database.schema, [](const auto&) {});
      if (!migrated) out = migrated.problem();
    });
    if (failure) out = base::Problem{"the database for the tests cannot be migrated: " + failure->message};
    return out;
  }

  std::optional<base::Problem> run_scripts(const std::vector<std::string>& scripts, const std::string& url) {
    for (const std::string& script : scripts) {
      const auto ran = operations::run_sql(url, script, request_.timeout);
      if (!ran) return base::Problem{"setup: " + ran.problem().message, "setup"};
    }
    return std::nullopt;
  }

  /// Why the case could not be run to its end.
  std::optional<std::string> run(const Case& what, Clock::time_point end, CaseResult& out) {
    auto created = ThrowAwayDatabase::create(server_url_, pattern_->name());
    if (!created) return created.problem().message;
    const ThrowAwayDatabase database{std::move(created).value()};
    if (auto problem = run_scripts(what.setup, database.url())) return problem->message;
    const auto brokers = kafka::LocalBrokers::start();
    if (!brokers) return brokers.problem().message;
    answers_.set(what.answers);
    Surroundings surroundings{database.url(), brokers.value()->addresses()};
    if (!request_.is_real) {
      surroundings.url_for = [&](const auto& handler, const auto& real) { return answers_.url_for(handler, real); };
    }
    config::Loaded under_test = loaded_;
    under_test.settings = settings_for_test(loaded_.settings, surroundings);
    CaseRun running{std::move(under_test), plugins_, log_};
    if (auto problem = running.start()) return problem->message;
    auto records = running.run(what, end, request_.must_end);
    const auto messages = running.outbox();
    out.has_left_calls = !running.stop();
    if (out.has_left_calls) return "a call of a plugin did not return, and the rest of the cases is left out";
    if (request_.must_end()) return "interrupted";
    if (!records) return records.problem().message;
    Observed observed{std::move(records).value(), {}, answers_.requests(), messages};
    const auto published = brokers.value()->records();
    if (!published) return published.problem().message;
    for (const auto& message : published.value()) observed.published.push_back(message_of(*message));
    if (!what.query.empty()) {
      auto rows = operations::run_sql(database.url(), what.query, request_.timeout);
      if (!rows) return "query: " + rows.problem().message;
      observed.rows = std::move(rows).value();
    }
    out.differences = differences(what, observed, loaded_.settings.handlers);
    return std::nullopt;
  }

  const TestFile& file_;
  const config::Loaded& loaded_;
  const TestRequest& request_;
  base::Logger& log_;
  plugin::Loader plugins_;
  std::unique_ptr<PrivateServer> server_;
  std::string server_url_;
  std::optional<ThrowAwayDatabase> pattern_;  ///< migrated and set up, copied for each case
  AnswerServer answers_;
};

}  // namespace

base::Result<std::vector<CaseResult>> run_tests(const TestFile& file, const config::Loaded& loaded,
                                                const TestRequest& request, base::Logger& log) {
  Suite suite{file, loaded, request, log};
  if (auto problem = suite.prepare()) return *problem;
  std::vector<CaseResult> out;
  for (const Case& each : file.cases) {
    if (each.name.find(request.filter) == std::string::npos) continue;
    if (request.must_end()) break;
    out.push_back(suite.run(each));
    request.report(out.back());
    if (out.back().has_left_calls) break;
  }
  return out;
}

}  // namespace inboxd::testing
