#include "inbox/handler_hold.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

std::vector<HandlerHold> read_holds(Connection& connection, const base::Uuid& owner,
                                    const std::vector<std::int32_t>& handlers,
                                    const std::vector<std::int32_t>& may_try, std::chrono::milliseconds trial) {
  using State = HandlerHold::State;
  ArrayParameter ids{ArrayParameter::Type::int4}, trying{ArrayParameter::Type::int4};
  for (const std::int32_t id : handlers) ids.add(id);
  for (const std::int32_t id : may_try) trying.add(id);
  std::vector<HandlerHold> out;
  const pqxx::params parameters{owner.text(), ids.finish(), trying.finish(), trial.count()};
  for (const auto& row : connection.access().call(statements::handler_holds, parameters)) {
    // A word of a later version holds its handler alone.
    const auto word = row[1].view();
    const State state = word == "open" ? State::open : word == "trial" ? State::trial : State::held;
    out.push_back({row[0].as<std::int32_t>(), state});
  }
  return out;
}

void write_hold(Connection& connection, const base::Uuid& owner, std::int32_t handler_id, const HoldNews& news) {
  const std::string actor = "daemon, process " + owner.text();
  if (news.kind == HoldNews::Kind::closed) {
    connection.access().run(statements::close_fuse, pqxx::params{handler_id, owner.text(), actor});
    return;
  }
  const bool is_fuse = news.kind == HoldNews::Kind::blown;
  connection.access().run(statements::blow_fuse, pqxx::params{handler_id, owner.text(), news.reason, is_fuse, actor});
}

}  // namespace inboxd::inbox
