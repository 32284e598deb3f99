#include "admin/answers.hpp"
#include "admin/live.hpp"
#include "admin/operations.hpp"

namespace inboxd::admin {
namespace {

Answer show(Context& context, const Arguments&) { return {base::ExitCode::done, context.live->describe(), ""}; }

Answer set_paused(Context& context, const Arguments& arguments, bool paused) {
  const std::string verb = paused ? "instance pause" : "instance resume";
  const Document document{{"dry_run", arguments.flag("dry-run")}, {"paused", paused}};
  if (arguments.flag("dry-run")) return {base::ExitCode::done, document, ""};
  if (context.live->pause_all(paused, context.actor)) return {base::ExitCode::done, document, ""};
  return {base::ExitCode::no, nullptr,
          verb + (paused ? ": this instance is paused already, or not running yet" : ": this instance is not paused")};
}

Answer pause(Context& context, const Arguments& arguments) { return set_paused(context, arguments, true); }
Answer resume(Context& context, const Arguments& arguments) { return set_paused(context, arguments, false); }

}  // namespace

std::vector<Operation> instance_operations() {
  return {{"instance show",
           "What only the running daemon knows: its partitions, what it has in hand, what it has paused.",
           {{"instance show", "asks the daemon of this configuration over its admin port"}},
           Permission::read,
           Needs::daemon,
           {},
           show,
           answers::instance_show},
          {"instance pause",
           "Takes nothing new for any handler in this instance; others go on. Gone with a restart.",
           {{"instance pause --yes", "without asking; needs admin.token"}},
           Permission::change,
           Needs::daemon,
           {dry_run_parameter(), yes_parameter()},
           pause,
           answers::instance_paused},
          {"instance resume",
           "Goes on after a pause of this instance.",
           {{"instance resume --yes", "without asking; needs admin.token"}},
           Permission::change,
           Needs::daemon,
           {dry_run_parameter(), yes_parameter()},
           resume,
           answers::instance_paused}};
}

}  // namespace inboxd::admin
