#include "admin/operations.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace inboxd::admin {

std::vector<Operation> operations() {
  std::vector<Operation> out;
  for (auto family :
       {status_operations, event_operations, dead_operations, quarantine_operations, handler_operations,
        shard_operations, instance_operations, configuration_operations, migration_operations, version_operations}) {
    auto rows = family();
    out.insert(out.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  return out;
}

std::string path_of(const Operation& operation) {
  std::string out = "/v1/" + operation.verb;
  std::replace(out.begin(), out.end(), ' ', '/');
  return out;
}

Parameter limit_parameter(std::int64_t default_number) {
  Parameter out{"limit", Parameter::Kind::number, "the most rows to show", "N"};
  out.default_number = default_number;
  out.least = 1;
  out.most = 10'000;
  return out;
}

Parameter since_parameter(std::string help) {
  help += " at this time or later: 2024-01-31T12:00:00Z, or 2h for so long ago";
  return {"since", Parameter::Kind::time, std::move(help), "TIME"};
}

Parameter until_parameter(std::string help) {
  help += " before this time";
  return {"until", Parameter::Kind::time, std::move(help), "TIME"};
}

Parameter dry_run_parameter() { return {"dry-run", Parameter::Kind::flag, "only say what would be done"}; }

Parameter yes_parameter() { return {"yes", Parameter::Kind::flag, "do not ask"}; }

}  // namespace inboxd::admin
