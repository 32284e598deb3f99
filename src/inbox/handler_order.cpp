#include "inbox/handler_order.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/routing_lock.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

std::vector<MisplacedRows> read(const pqxx::result& rows) {
  std::vector<MisplacedRows> out;
  for (const auto& found : rows) {
    RowReader row{found};
    MisplacedRows one;
    one.handler_id = row.int4();
    one.handler = row.text();
    one.mode = row.text();
    one.order_scope = row.text();
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::vector<MisplacedRows> find_misplaced(Connection& connection) {
  return read(connection.access().run(statements::find_misplaced, pqxx::params{}, Effect::reads));
}

std::int64_t repair_order(Connection& connection, std::int32_t handler_id) {
  auto& access = connection.access();
  std::int64_t changed = 0;
  access.transaction([&](pqxx::work& tx) {
    changed = 0;
    lock_routing(access, tx);
    for (const MisplacedRows& one : read(access.run_in(tx, statements::find_misplaced, {}))) {
      if (one.handler_id != handler_id) continue;
      const pqxx::params order{handler_id, one.mode, one.order_scope, false};
      changed = access.run_in(tx, statements::change_order, order)[0][0].as<std::int64_t>();
    }
    return changed > 0;
  });
  return changed;
}

}  // namespace inboxd::inbox
