#include "inbox/handler_limit.hpp"

#include <cmath>

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

Tokens take_tokens(Connection& connection, std::int32_t handler_id, double per_second, std::int64_t wanted) {
  const auto rows = connection.access().call(statements::take_tokens, pqxx::params{handler_id, per_second, wanted});
  const auto row = rows.one_row();
  return {row[0].as<std::int64_t>(), std::chrono::milliseconds{std::llround(std::ceil(row[1].as<double>()))}};
}

int share_calls(Connection& connection, const base::Uuid& owner, std::int32_t handler_id, const CallsRequest& request) {
  const auto rows = connection.access().call(
      statements::share_calls,
      pqxx::params{handler_id, owner.text(), request.most, request.wanted, request.held, request.lease.count()});
  return rows.one_field().as<int>();
}

}  // namespace inboxd::inbox
