#include "inbox/resends.hpp"

#include <algorithm>

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

void Resends::add(const std::vector<std::int32_t>& seconds) {
  for (const std::int32_t age : seconds) {
    const auto bound = std::lower_bound(bounds.begin(), std::prev(bounds.end()), age);
    unwritten_[static_cast<std::size_t>(bound - bounds.begin())] += 1;
    histogram_.observe(age);
  }
}

std::vector<Resends::Count> Resends::take() {
  std::vector<Count> out;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (const auto resends = unwritten_[i].exchange(0)) out.push_back({bounds[i], resends});
  }
  return out;
}

void Resends::put_back(const std::vector<Count>& counts) {
  for (const Count& count : counts) {
    const auto place = std::lower_bound(bounds.begin(), bounds.end(), count.seconds) - bounds.begin();
    unwritten_[static_cast<std::size_t>(place)] += count.resends;
  }
}

void note_resends(Connection& connection, const std::vector<Resends::Count>& counts) {
  if (counts.empty()) return;
  using Type = ArrayParameter::Type;
  ArrayParameter seconds{Type::int4}, resends{Type::int8};
  for (const auto& count : counts) {
    seconds.add(count.seconds);
    resends.add(count.resends);
  }
  connection.access().run(statements::note_resends, pqxx::params{seconds.finish(), resends.finish()});
}

}  // namespace inboxd::inbox
