#include "claimer/claimer.hpp"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

#include "claimer/answer_log.hpp"

namespace inboxd::dispatcher {
namespace {

/// A pause is obeyed within two seconds.
constexpr std::chrono::milliseconds holds_interval{500};
/// If the process that tries an event shows no heartbeat for this long, another process tries.
constexpr std::chrono::seconds trial_timeout{10};

constexpr std::array<Class, classes> all_classes{Class::lease, Class::hold, Class::limit, Class::claim};

/// A fence of its own for each question that leases something.
void draw_fence(Request& request) {
  if (auto* const take = std::get_if<TakeSequences>(&request)) take->fence = base::random_fence();
  if (auto* const claim = std::get_if<Claim>(&request)) claim->request.fence = base::random_fence();
  if (auto* const claim = std::get_if<ClaimInOrder>(&request)) claim->request.claim.fence = base::random_fence();
}

}  // namespace

Claimer::Claimer(AskDatabase ask_database, std::shared_ptr<ClaimerSignals> signals, ListHandlers list_handlers,
                 settler::Settler& settler, base::Logger& log, Limits limits)
    : ask_database_{std::move(ask_database)},
      signals_{std::move(signals)},
      list_handlers_{std::move(list_handlers)},
      log_{log},
      limits_{limits},
      holds_{{settler::DatabaseBackoff::Part::dispatcher, log, limits.backoff, "pauses of handlers"}, {}},
      backoff_{settler::DatabaseBackoff::Part::dispatcher, log, limits.backoff},
      suspects_{signals_, settler, log, limits.suspects} {}

Claimer::~Claimer() {
  request_stop();
  join();
}

void Claimer::start() {
  heartbeat_.beat();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "claimer");
}

void Claimer::request_stop() {
  stopping_ = true;
  signals_->wake.notify();
}

void Claimer::join() {
  if (thread_.joinable()) thread_.join();
}

// ---- the loop

void Claimer::run() {
  while (!stopping_) {
    heartbeat_.beat();
    if (!is_blocked()) serve(list_handlers_());
    signals_->wake.wait_until(next_turn(Clock::now()));
  }
  if (is_blocked()) return;
  // If the release of a handler is refused, another handler's release may work. What is not released ends with its
  // lease.
  for (const auto& handler : list_handlers_()) {
    ask_all(*handler, Class::lease);
    if (auto request = handler->lock()->last_request()) ask(*handler, std::move(*request));
    if (is_blocked()) return;
  }
}

void Claimer::serve(Handlers handlers) {
  visit_leases(handlers);
  visit_all(handlers, Class::hold);
  read_holds(handlers);
  visit_all(handlers, Class::limit);
  suspects_.begin_round();
  if (suspects_.isolation().is_on()) serve_isolated(handlers);
  if (suspects_.isolation().is_on()) return;
  suspects_.take_turns(handlers);
  find_due(handlers);
  for (const auto& handler : handlers) {
    // The claims of many handlers may take long: leases are renewed in time, also between two claims.
    if (Clock::now() >= next_leases_) visit_leases(handlers);
    if (is_blocked() || stopping_ || suspects_.isolation().is_on()) return;
    visit(*handler, Class::claim);
  }
}

void Claimer::serve_isolated(const Handlers& handlers) {
  if (is_blocked()) return;
  if (const auto handler = suspects_.isolation().turn(handlers, Clock::now())) visit(*handler, Class::claim);
  suspects_.isolation().review(handlers, suspects_.any_in_flight(), Clock::now());
}

void Claimer::visit_all(const Handlers& handlers, Class of) {
  for (const auto& handler : handlers) visit(*handler, of);
}

void Claimer::visit_leases(const Handlers& handlers) {
  limit_visits(handlers);
  visit_all(handlers, Class::lease);
  const auto now = Clock::now();
  next_leases_ = now + limits_.turn;
  for (const auto& handler : handlers) next_leases_ = std::min(next_leases_, handler->next_due(Class::lease, now));
}

/// A failure of this handler alone (rights on a table that its claims read, locked rows) does not stop the others.
void Claimer::visit(InFlight& handler, Class of) {
  Retry& retry = retry_of(handler, of);
  if (is_blocked() || Clock::now() < retry.not_before) return;
  const auto refused = ask_all(handler, of);
  if (is_blocked()) return;
  if (refused) {
    retry.not_before = Clock::now() + retry.backoff.failed(*refused, Clock::now());
  } else {
    retry.backoff.worked();
  }
}

/// Returns the last refusal. A refused question does not hold up the handler's others.
std::optional<inbox::DatabaseFailure> Claimer::ask_all(InFlight& handler, Class of) {
  std::optional<inbox::DatabaseFailure> refused;
  bool needs_limit = of == Class::claim;  // only with a question: most visits of idle handlers ask nothing
  while (auto request = handler.next(of, Clock::now())) {
    if (std::exchange(needs_limit, false)) limit_visits(list_handlers_());
    if (auto failure = ask(handler, std::move(*request))) refused = std::move(failure);
    // Leases first: rows that a claim leased and that are not in memory hold back its sequence.
    if (of == Class::claim) visit(handler, Class::lease);
    if (is_blocked()) break;
  }
  return refused;
}

/// Returns the failure.
std::optional<inbox::DatabaseFailure> Claimer::ask(InFlight& handler, Request request) {
  draw_fence(request);
  suspects_.limit(request, Clock::now());
  Visit visit{Clock::now(), {}};
  Answer answer = ask_database(request);
  visit.came = Clock::now();
  std::optional<inbox::DatabaseFailure> failure;
  if (const auto* const failed = std::get_if<inbox::DatabaseFailure>(&answer)) failure = *failed;
  if (!failure) {
    suspects_.take_out(handler, request, answer, list_handlers_);
    log_answer(log_, handler.handler(), request, answer);
  }
  if (const auto end = handler.answer(request, std::move(answer), visit)) {
    log_window_end(log_, handler.handler(), *end);
  }
  return failure;
}

/// A failure of the connection blocks all handlers.
Answer Claimer::ask_database(const Request& request) {
  Reply reply = ask_database_(request, visit_limit_);
  heartbeat_.beat();
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&reply.answer)) {
    if (is_disconnected(*failure)) blocked_until_ = Clock::now() + backoff_.failed(*failure, Clock::now());
    return std::move(reply.answer);
  }
  backoff_.worked();
  if (session_ != reply.session) {
    session_ = reply.session;
    for (const auto& handler : list_handlers_()) handler->lock()->forget_low_water();
  }
  return std::move(reply.answer);
}

/// A single question for all handlers.
void Claimer::read_holds(const Handlers& handlers) {
  const auto now = Clock::now();
  if (is_blocked() || now < next_holds_ || now < holds_.not_before || handlers.empty()) return;
  next_holds_ = now + holds_interval;
  ReadHolds question{{}, {}, trial_timeout};
  for (const auto& handler : handlers) {
    question.handlers.push_back(handler->handler_id());
    if (handler->may_try()) question.may_try.push_back(handler->handler_id());
  }
  const Answer answer = ask_database(question);
  if (const auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) {
    if (!is_blocked()) holds_.not_before = Clock::now() + holds_.backoff.failed(*failure, Clock::now());
    return;
  }
  holds_.backoff.worked();
  for (const inbox::HandlerHold& hold : std::get<ReadHolds::Result>(answer)) {
    const auto handler = std::find_if(handlers.begin(), handlers.end(),
                                      [&](const auto& each) { return each->handler_id() == hold.handler_id; });
    if (handler != handlers.end()) (*handler)->set_hold(hold.state);
  }
}

/// A single question for all handlers that wait for due deliveries: hundreds of idle handlers cost as much as one.
/// Handlers in the answer claim in this round; all do if the question fails, and one that asks alone does at once.
void Claimer::find_due(const Handlers& handlers) {
  const auto now = Clock::now();
  const auto is_due_now = [&](const auto& handler) { return handler->lock()->is_look_due(now); };
  if (is_blocked() || handlers.size() < 2 || std::none_of(handlers.begin(), handlers.end(), is_due_now)) return;
  FindDue question;
  Handlers asked;
  for (const auto& handler : handlers) {
    if (now < retry_of(*handler, Class::claim).not_before) continue;
    const auto look = handler->lock()->begin_look(now);
    if (!look) continue;
    asked.push_back(handler);
    question.handlers.push_back(handler->handler_id());
    question.not_before.push_back(look->not_before);
  }
  std::optional<std::vector<std::int32_t>> due;
  if (asked.size() > 1) {
    const Answer answer = ask_database(question);
    if (const auto* const found = std::get_if<FindDue::Result>(&answer)) due = *found;
  }
  for (const auto& handler : asked) {
    const bool is_due = !due || std::find(due->begin(), due->end(), handler->handler_id()) != due->end();
    if (is_due) handler->lock()->claim_again(now);
  }
}

/// If nothing is in flight, a wait loses nothing.
void Claimer::limit_visits(const Handlers& handlers) {
  visit_limit_ = {};
  for (const auto& handler : handlers) {
    const auto lease = handler->lease();
    if (!lease.is_at_stake) continue;
    const auto half = std::max(lease.length / 2, limits_.min_deadline);
    visit_limit_.longest = std::min(visit_limit_.longest.value_or(half), half);
  }
  if (visit_limit_.longest) visit_limit_.end = Clock::now() + *visit_limit_.longest;
}

Claimer::Clock::time_point Claimer::next_turn(Clock::time_point now) {
  const bool is_isolated = suspects_.isolation().is_on();
  auto turn = std::min(now + limits_.turn, suspects_.isolation().next_look(now));
  if (now < blocked_until_) return std::min(turn, blocked_until_);
  turn = std::min(turn, std::max(next_holds_, holds_.not_before));
  for (const auto& handler : list_handlers_()) {
    for (const Class of : all_classes) {
      if (of == Class::claim && is_isolated) continue;
      turn = std::min(turn, std::max(handler->next_due(of, now), retry_of(*handler, of).not_before));
    }
  }
  return turn;
}

Claimer::Retry& Claimer::retry_of(const InFlight& handler, Class of) {
  auto at = retries_.find(handler.handler_id());
  if (at == retries_.end()) {
    const auto retry = [&](const char* questions) {
      return Retry{{settler::DatabaseBackoff::Part::dispatcher, log_, limits_.backoff,
                    "handler " + handler.handler() + ", its " + questions},
                   {}};
    };
    Retries all{retry("leases"), retry("pauses"), retry("limits"), retry("claims")};
    at = retries_.emplace(handler.handler_id(), std::move(all)).first;
  }
  return at->second[static_cast<std::size_t>(of)];
}

}  // namespace inboxd::dispatcher
