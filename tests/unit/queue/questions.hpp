#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "event/now.hpp"
#include "queue/in_flight.hpp"

/// A test in place of the claimer.
namespace inboxd::test {

inline std::shared_ptr<dispatcher::InFlight> in_flight_of(const config::Handler& settings,
                                                          std::int64_t max_events = 10'000) {
  return std::make_shared<dispatcher::InFlight>(7, settings, std::chrono::seconds{1},
                                                std::make_shared<dispatcher::Budgets>(max_events, 10'000'000),
                                                std::make_shared<dispatcher::ClaimerSignals>());
}

/// The answer of a database that has nothing for anybody, and takes no sequence away.
inline dispatcher::Answer nothing_for(const dispatcher::Request& request) {
  if (std::holds_alternative<dispatcher::ReadDue>(request)) return inbox::DueReading{std::nullopt, event::now()};
  if (const auto* const renewal = std::get_if<dispatcher::RenewSequences>(&request)) {
    std::vector<inbox::RenewedSequence> all;
    for (const auto& key : renewal->keys) all.push_back({key.sequence});
    return all;
  }
  return std::visit(
      [](const auto& question) { return dispatcher::Answer{typename std::decay_t<decltype(question)>::Result{}}; },
      request);
}

/// The handler's question of that type, at that time. Those before it get nothing. nullopt: the visit has none.
template <class Question>
std::optional<Question> question_of(dispatcher::InFlight& handler, dispatcher::Class of,
                                    dispatcher::InFlight::Clock::time_point now = dispatcher::InFlight::Clock::now()) {
  while (const auto request = handler.next(of, now)) {
    if (const auto* const found = std::get_if<Question>(&*request)) return *found;
    handler.answer(*request, nothing_for(*request), {now, now});
  }
  return std::nullopt;
}

/// Answers a question and ends the visit.
inline std::optional<dispatcher::WindowEnd> answer(
    dispatcher::InFlight& handler, dispatcher::Class of, const dispatcher::Request& request, dispatcher::Answer answer,
    dispatcher::InFlight::Clock::time_point asked = dispatcher::InFlight::Clock::now()) {
  const auto out = handler.answer(request, std::move(answer), {asked, asked});
  while (const auto next = handler.next(of, asked)) handler.answer(*next, nothing_for(*next), {asked, asked});
  return out;
}

/// Claims these runs; `more`: further ones are due.
inline bool claim(dispatcher::InFlight& handler, std::vector<inbox::LeasedRun> runs, bool more = false) {
  const auto question = question_of<dispatcher::Claim>(handler, dispatcher::Class::claim);
  if (!question) return false;
  dispatcher::Claim::Result result;
  result.claimed.runs = std::move(runs);
  if (more) result.claimed.rows_locked = question->request.rows;
  answer(handler, dispatcher::Class::claim, *question, std::move(result));
  return true;
}

}  // namespace inboxd::test
