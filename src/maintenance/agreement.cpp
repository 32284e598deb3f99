#include "maintenance/agreement.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "event/now.hpp"
#include "inbox/handler_order.hpp"
#include "inbox/predecessors.hpp"
#include "operations/handler_agreement.hpp"

namespace inboxd::maintenance {

void Agreement::compare(const inbox::HandlerVersions& versions) {
  bool has_changed = false;
  for (const auto& registered : registrations_.get()) {
    const auto found = versions.find(registered.handler_id);
    if (found == versions.end() || found->second <= registered.changed_under) continue;
    std::int64_t& reported = reported_[registered.handler_id];
    has_changed = has_changed || reported != found->second;
    reported = found->second;
  }
  if (!has_changed) return;
  for (const auto& handler : operations::read_registered(connection_)) {
    const auto reported = reported_.find(handler.handler_id);
    if (handler.instance_id != instance_id_ || reported == reported_.end()) continue;
    if (const auto lost = handler.lost_topics(); !lost.empty()) {
      log_.warn("maintenance.topics_taken",
                {{"handler", handler.handler},
                 {"topics", base::joined(lost)},
                 {"remedy", operations::backfill_command(handler.handler, handler.changed_at, event::now(), lost)}});
    }
    if (handler.has_other_order()) {
      log_.warn("maintenance.order_differs",
                {{"handler", handler.handler}, {"order", handler.own_order}, {"newest", handler.order}});
    }
  }
}

void Agreement::repair_order() {
  for (const auto& found : inbox::find_misplaced(connection_)) {
    const auto rows = inbox::repair_order(connection_, found.handler_id);
    if (rows == 0) continue;
    log_.error("maintenance.order_repaired", {{"handler", found.handler}, {"rows", rows}});
  }
}

void Agreement::check_predecessors() {
  for (const auto& found : inbox::find_living_predecessors(connection_, instance_id_)) {
    if (!living_.insert(found.instance_id).second) continue;
    log_.warn("maintenance.instance_id_shared",
              {{"instance", found.instance_id.text()}, {"host", found.host}, {"process", found.process_id}});
  }
}

}  // namespace inboxd::maintenance
