#include "consumer/log_end.hpp"

#include <algorithm>

namespace inboxd::consumer {

void LogEnd::note_fetch(std::int64_t told, bool is_fetched, Clock::time_point now) {
  const bool is_news = told >= 0 && told != fetched;
  if (is_news) high = fetched = told;
  if (is_news || is_fetched) right_at = now;
}

void LogEnd::note_answer(std::int64_t told) {
  if (asked_at <= right_at) return;
  high = told;
  right_at = asked_at;
}

bool LogEnd::is_due(Clock::time_point now) const { return now - std::max(right_at, asked_at) >= oldest; }

}  // namespace inboxd::consumer
