#include "admin/operations.hpp"
#include "admin/status.hpp"

namespace inboxd::admin {
namespace {

Answer list(Context& context, const Arguments&) {
  Document handlers = Document::array();
  for (const auto& handler : inbox::read_handlers(*context.connection)) handlers.push_back(document_of(handler));
  Answer out;
  if (handlers.empty())
    out = {base::ExitCode::no, nullptr, "the database knows no handler yet; `inboxd run` adds them"};
  out.document = {{"handlers", std::move(handlers)}};
  return out;
}

}  // namespace

std::vector<Operation> handler_operations() {
  return {{"handlers list",
           "Handlers as the database knows them, with what they subscribe to and have outstanding.",
           {{"handlers list", "all, those that nobody configures any more, too"}},
           Permission::read,
           Needs::database,
           {},
           list}};
}

}  // namespace inboxd::admin
