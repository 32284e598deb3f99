#include "consumer/log_end.hpp"

#include <algorithm>

namespace inboxd::consumer {

LogEnd LogEnd::begun(Clock::time_point now) {
  LogEnd out;
  out.right_at = out.news_at = now;
  return out;
}

void LogEnd::note_fetch(std::int64_t told, bool is_fetched, Clock::time_point now) {
  const bool is_news = told >= 0 && told != fetched;
  if (is_news) {
    high = fetched = told;
    news_at = now;
  }
  if (is_news || is_fetched) right_at = now;
  if (!is_fetched) answered = -1;
}

void LogEnd::note_answer(std::int64_t told) {
  if (asked_at == Clock::time_point::min()) return;
  answered = told;
  if (asked_at <= right_at) return;
  high = told;
  right_at = asked_at;
}

bool LogEnd::is_due(const Pace& pace, Clock::time_point now) const {
  return now - std::max(right_at, asked_at) >= pace.oldest || now - std::max(news_at, asked_at) >= pace.quiet;
}

bool LogEnd::is_missed(const Pace& pace, bool is_fetched, Clock::time_point now) {
  if (!is_fetched || answered <= fetched || now - asked_at < pace.told_within) return false;
  answered = -1;
  return true;
}

}  // namespace inboxd::consumer
