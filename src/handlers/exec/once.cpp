#include "once.hpp"

#include "child.hpp"
#include "event_line.hpp"

namespace exec_handler {
namespace {

constexpr int dead_status = 65;  // EX_DATAERR of sysexits.h

}  // namespace

std::optional<inboxd::Outcome> run_once(const Program& program, const inboxd::Call& call, const inboxd::Event& event) {
  Child child{program, variables_of(event)};
  const inboxd::MaybeText body = program.sends_raw ? std::nullopt : event.json();
  std::string_view input = body ? *body : event.payload().value_or("");
  std::string output;
  std::string errors;
  if (input.empty()) child.close_input();
  for (bool lives = true; lives;) {
    if (call.is_cancelled()) return std::nullopt;
    const bool had_input = !input.empty();
    lives = child.exchange(input, output, errors, exchange_interval);
    if (had_input && input.empty()) child.close_input();
    output.clear();  // of no use
  }
  return outcome_of(child.end(), errors);
}

inboxd::Outcome outcome_of(int how, const std::string& errors) {
  if (how == 0) return inboxd::done();
  std::string reason = last_line(errors);
  if (reason.empty()) reason = "the program " + ending_text(how);
  const bool is_signal = how >= Child::signal_base;
  const std::string error_class =
      is_signal ? "exec.signal_" + std::to_string(how - Child::signal_base) : "exec.exit_" + std::to_string(how);
  return how == dead_status ? inboxd::dead(reason, error_class) : inboxd::retry(reason, error_class);
}

}  // namespace exec_handler
