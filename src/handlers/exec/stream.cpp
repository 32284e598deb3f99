#include "stream.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "../shared/answer.hpp"
#include "event_line.hpp"

namespace exec_handler {
namespace {

using std::chrono::milliseconds;

/// Before a new child is started: none after the first failure, then doubled up to the longest.
constexpr milliseconds min_wait{100};
constexpr milliseconds max_wait{10'000};
/// Shown of a line that is no answer.
constexpr std::size_t shown_bytes = 200;

milliseconds wait_after(int failures) {
  if (failures < 2) return milliseconds{0};
  return std::min(min_wait * (1 << std::min(failures - 2, 20)), max_wait);
}

}  // namespace

class Stream::Open {
 public:
  explicit Open(const inboxd::Events& events) : events_{events}, open_(events.size(), true) {
    for (const inboxd::Event event : events) index_.emplace(event.id(), event.index());
  }
  bool empty() const { return index_.empty(); }
  std::size_t size() const { return index_.size(); }
  /// As lines, in their order.
  std::string lines(bool raw) const {
    std::string out;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i]) out += line_of(events_[i], raw);
    }
    return out;
  }
  /// Whether the answer is of an earlier attempt of an event that waits for an answer.
  bool is_late(const handlers::Answer& answer) const {
    const auto found = index_.find(answer.event_id);
    return found != index_.end() && answer.attempt && *answer.attempt != events_[found->second].attempt();
  }
  /// Removes and returns the event with this id, if it has no answer yet.
  std::optional<inboxd::Event> answered(const std::string& id) {
    const auto found = index_.find(id);
    if (found == index_.end()) return std::nullopt;
    const std::size_t index = found->second;
    index_.erase(found);
    open_[index] = false;
    return events_[index];
  }
  inboxd::Event take_first() {
    const auto first = static_cast<std::size_t>(std::find(open_.begin(), open_.end(), true) - open_.begin());
    return *answered(events_[first].id());
  }

 private:
  const inboxd::Events& events_;
  std::vector<bool> open_;
  std::unordered_map<std::string, std::size_t> index_;
};

void Stream::handle(inboxd::Call& call, const inboxd::Events& events) {
  Open open{events};
  bool may_end = true;
  while (!open.empty() && !call.is_cancelled()) {
    if (const auto wait = wait_before_start(); wait.count() > 0) {
      return call.settle_rest(inboxd::away(wait, "the program has failed several times", "exec.crashed"));
    }
    std::unique_ptr<Session> session;
    try {
      session = begin();
    } catch (const std::exception& thrown) {
      if (no_start_.begins()) log_.error(std::string{thrown.what()} + "; its events wait uncharged");
      return call.settle_rest(inboxd::away(max_wait, thrown.what(), "exec.start"));
    }
    const std::size_t before = open.size();
    const auto failure = converse(*session, call, open);
    const bool has_answered = open.size() < before;
    if (failure && failure->is_clean_end && (has_answered || std::exchange(may_end, false))) continue;
    if (!failure) {
      if (open.empty()) put_back(std::move(session));
      continue;  // or the call was cancelled: the child is in the middle of an event, and ends with its session
    }
    note_failure();
    log_.warn("the program failed, a new process is started: " + failure->error_class + ": " + failure->message);
    if (open.empty()) return;
    call.settle(open.take_first(), inboxd::retry(failure->message, failure->error_class));
    // Later events of its key must not run before it: they are called again.
    return call.settle_rest(inboxd::away(milliseconds{0}, "an earlier event has failed"));
  }
}

std::unique_ptr<Stream::Session> Stream::begin() {
  if (auto idle = take_idle()) return idle;
  auto out = std::make_unique<Session>(program_);
  if (no_start_.ends()) log_.info("the program can be started again");
  return out;
}

/// Not positive: a child may be started now.
inboxd::Milliseconds Stream::wait_before_start() {
  const inboxd::base::Lock lock{mutex_};
  return std::chrono::ceil<milliseconds>(next_start_ - Clock::now());
}

/// A session whose child is still alive. An end between two calls costs no event an attempt.
std::unique_ptr<Stream::Session> Stream::take_idle() {
  for (;;) {
    std::unique_ptr<Session> session;
    {
      const inboxd::base::Lock lock{mutex_};
      if (idle_.empty()) return nullptr;
      session = std::move(idle_.back());
      idle_.pop_back();
    }
    std::string_view nothing;
    const bool lives =
        session->child.exchange(nothing, session->output, session->errors, milliseconds{0}) && session->child.lives();
    log_errors(*session);
    if (lives && session->output.empty()) return session;
  }
}

void Stream::put_back(std::unique_ptr<Session> session) {
  const inboxd::base::Lock lock{mutex_};
  failures_ = 0;
  next_start_ = {};
  idle_.push_back(std::move(session));
}

void Stream::note_failure() {
  const inboxd::base::Lock lock{mutex_};
  next_start_ = Clock::now() + wait_after(++failures_);
}

/// Until all events are answered, the call is cancelled, or the child fails.
std::optional<Stream::Failure> Stream::converse(Session& session, inboxd::Call& call, Open& open) {
  const std::string lines = open.lines(program_.sends_raw);
  std::string_view input = lines;
  session.errors.clear();
  while (!open.empty() && !call.is_cancelled()) {
    const bool lives = session.child.exchange(input, session.output, session.errors, exchange_interval);
    if (auto failure = read_answers(session, call, open)) return failure;
    if (lives || open.empty()) continue;
    const std::string reason = last_line(session.errors);
    log_errors(session);
    const int end = session.child.end();
    const std::string how = "the program " + ending_text(end);
    return Failure{"exec.crashed", reason.empty() ? how : how + ": " + reason, end == 0};
  }
  log_errors(session);
  return std::nullopt;
}

std::optional<Stream::Failure> Stream::read_answers(Session& session, inboxd::Call& call, Open& open) {
  std::string_view rest = session.output;
  std::string why;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos && why.empty(); end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const auto answer = handlers::answer_of(line, why);
    if (!answer) break;
    if (open.is_late(*answer)) continue;
    const auto event = open.answered(answer->event_id);
    if (event) call.settle(*event, answer->outcome);
    if (!event) why = "its event_id is of no event that waits for an answer";
  }
  session.output.erase(0, session.output.size() - rest.size());
  if (session.output.size() > max_output) why = "it is longer than 1 MiB";
  if (why.empty()) return std::nullopt;
  return Failure{"exec.answer", "the program wrote a line that is no answer: " + why};
}

/// Whole lines, as the program's log.
void Stream::log_errors(Session& session) const {
  std::string_view rest = session.errors;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (end > 0) log_.info(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  session.errors.erase(0, session.errors.size() - rest.size());
}

}  // namespace exec_handler
