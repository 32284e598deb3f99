#include "inbox/connecting.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "base/mutex.hpp"
#include "inbox/login_refusal.hpp"

namespace inboxd::inbox {
namespace {

constexpr std::chrono::milliseconds poll_interval{50};
/// A refusal arrives sooner; libpq waits at least this long for a silent host.
constexpr std::chrono::seconds prompt{2};
/// SQLSTATE of a missing password: libpq notices it without a server's answer.
constexpr const char* invalid_password = "28P01";
/// Likewise of a certificate.
constexpr const char* invalid_authorization = "28000";

/// Shared by the waiting caller and the thread that connects.
struct ConnectAttempt {
  std::vector<std::pair<std::string, std::string>> parameters;
  bool asks_for_sqlstate = false;
  base::Mutex mutex;
  base::Condition changed;
  ConnectResult result GUARDED_BY(mutex);
  bool is_over GUARDED_BY(mutex) = false;
  bool is_wanted GUARDED_BY(mutex) = true;
};

bool is_code_character(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); }

/// The last SQLSTATE in a verbose message, `FATAL:  28P01: …` in any language: that of the host tried last.
std::string sqlstate_in(std::string_view message) {
  constexpr std::string_view before = ":  ", behind = ": ";
  constexpr std::size_t length = 5;
  std::string last;
  for (auto at = message.find(before); at != std::string_view::npos; at = message.find(before, at + 1)) {
    const std::string_view state = message.substr(at + before.size(), length);
    const bool is_code = state.size() == length && std::all_of(state.begin(), state.end(), is_code_character) &&
                         message.substr(at + before.size() + length).starts_with(behind);
    if (is_code) last = state;
  }
  return last;
}

PGconn* connect(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(keywords.data(), values.data(), 1);
}

ConnectResult attempt_once(const ConnectAttempt& attempt) {
  const auto began = std::chrono::steady_clock::now();
  ConnectResult result{connect(attempt.parameters), "", ""};
  if (PQstatus(result.connection) == CONNECTION_OK) return result;
  result.message = PQerrorMessage(result.connection);
  if (PQconnectionNeedsPassword(result.connection) == 1) {
    result.sqlstate = invalid_password;
  } else if (is_tls_refused(result.message)) {
    result.sqlstate = invalid_authorization;
  } else if (attempt.asks_for_sqlstate && std::chrono::steady_clock::now() - began < prompt) {
    PQsetErrorVerbosity(result.connection, PQERRORS_VERBOSE);
    PQreset(result.connection);
    if (PQstatus(result.connection) == CONNECTION_OK) return result;
    result.sqlstate = sqlstate_in(PQerrorMessage(result.connection));
    if (!result.sqlstate.empty()) result.message = PQerrorMessage(result.connection);
  }
  PQfinish(std::exchange(result.connection, nullptr));
  return result;
}

void run(const std::shared_ptr<ConnectAttempt>& attempt) {
  ConnectResult result = attempt_once(*attempt);
  const base::Lock lock{attempt->mutex};
  if (!attempt->is_wanted) {
    PQfinish(result.connection);
    return;
  }
  attempt->result = std::move(result);
  attempt->is_over = true;
  attempt->changed.notify_all();
}

}  // namespace

ConnectingTimes connecting_times(std::chrono::milliseconds deadline, std::chrono::milliseconds max_overrun,
                                 long hosts) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  constexpr seconds shortest{2}, longest{30};
  constexpr int addresses = 2;  // of a host name: IPv6 and IPv4
  ConnectingTimes out{std::clamp(std::chrono::duration_cast<seconds>(deadline / hosts), shortest, longest), {}};
  const milliseconds all = out.each * hosts * addresses + seconds{1};
  out.all = std::min<milliseconds>(std::max(all, deadline), deadline + max_overrun);
  return out;
}

ConnectResult make_connection(std::vector<std::pair<std::string, std::string>> parameters, bool asks_for_sqlstate,
                              std::chrono::milliseconds limit, const Watchdog& watchdog) {
  const auto began = std::chrono::steady_clock::now();
  const auto attempt = std::make_shared<ConnectAttempt>();
  attempt->parameters = std::move(parameters);
  attempt->asks_for_sqlstate = asks_for_sqlstate;
  std::thread{[attempt] { run(attempt); }}.detach();
  base::Lock lock{attempt->mutex};
  while (!attempt->is_over) {
    if (watchdog.must_end(began) || std::chrono::steady_clock::now() - began > limit) {
      attempt->is_wanted = false;
      return {nullptr, "connecting timed out", ""};
    }
    attempt->changed.wait_for(lock, poll_interval);
  }
  return std::move(attempt->result);
}

}  // namespace inboxd::inbox
