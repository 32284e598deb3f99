#include "admin/answers.hpp"
#include "admin/operations.hpp"
#include "inbox/operations.hpp"
#include "kafka/properties.hpp"

namespace inboxd::admin {
namespace {

Answer version(Context&, const Arguments&) {
  Document libraries = {{"librdkafka", kafka::library_version()}};
  for (const auto& library : inbox::database_libraries()) libraries[library.name] = library.version;
  return {base::ExitCode::done, {{"inboxd", INBOXD_VERSION}, {"libraries", libraries}}, ""};
}

}  // namespace

std::vector<Operation> version_operations() {
  return {{"version",
           "The version of inboxd and of the libraries it is linked with.",
           {{"version", "prints them"}},
           Permission::read,
           Needs::nothing,
           {},
           version,
           answers::version}};
}

}  // namespace inboxd::admin
