#include <algorithm>
#include <iterator>

#include "admin/answers.hpp"
#include "admin/check.hpp"
#include "admin/live.hpp"
#include "admin/operations.hpp"
#include "config/reference.hpp"
#include "config/show.hpp"

namespace inboxd::admin {
namespace {

using base::ExitCode;
using Kind = Parameter::Kind;

/// For a question to the brokers: a daemon that is to end waits for the answer.
constexpr std::chrono::milliseconds patience{1'500};

Answer show(Context& context, const Arguments&) {
  return {ExitCode::done, Document::parse(config::show_json(context.live->in_force())), ""};
}

Answer reference(Context&, const Arguments& arguments) {
  const bool yaml = arguments.flag("yaml");
  const bool minimal = arguments.flag("minimal");
  if (yaml && minimal) return {ExitCode::usage, nullptr, "config reference: --yaml or --minimal, not both"};
  return {ExitCode::done,
          {{"reference", yaml      ? config::commented_yaml()
                         : minimal ? config::minimal_yaml()
                                   : config::reference()}},
          ""};
}

Answer schema(Context&, const Arguments&) { return {ExitCode::done, Document::parse(config::schema()), ""}; }

/// What the running daemon needs, seen from where it runs. Its plugins are loaded: a start or a reload refuses others.
Answer check(Context& context, const Arguments&) {
  const config::Settings settings = context.live->in_force().settings;
  FoundList found = check_database(settings, *context.connection, nullptr);
  if (!context.pause(std::chrono::milliseconds{0})) {  // nobody waits any more, or it took too long already
    auto brokers = check_brokers(settings, std::min(patience, settings.admin.answer_timeout / 4));
    found.insert(found.end(), std::make_move_iterator(brokers.begin()), std::make_move_iterator(brokers.end()));
  }
  // Also where something is not reached: that is the answer here, and not that there is none.
  return {verdict_on(found) == ExitCode::done ? ExitCode::done : ExitCode::no, document_of(found), ""};
}

}  // namespace

std::vector<Operation> configuration_operations() {
  return {{"check",
           "Whether the database, brokers and topics that the running daemon needs are there, seen from where it runs; "
           "exit status 1 where anything stands in the way.",
           {{"check --running", "asks the daemon of this configuration over its admin port; needs admin.token"}},
           Permission::read_with_token,
           Needs::daemon,
           {},
           check,
           answers::check,
           nullptr,
           true},
          {"config show",
           "Every key that is in force in the running daemon, with its value and where that comes from; secrets as "
           "stars.",
           {{"config show --running", "asks the daemon of this configuration over its admin port; needs admin.token"}},
           Permission::read_with_token,
           Needs::daemon,
           {},
           show,
           answers::config_show,
           nullptr,
           true},
          {"config reference",
           "Every key there is: what it does, what it accepts, its default.",
           {{"config reference", "to read"},
            {"config reference --yaml > inboxd.yaml", "a file to begin with: all keys, commented out"},
            {"config reference --minimal > inboxd.yaml", "the keys that nobody can do without"}},
           Permission::read,
           Needs::nothing,
           {{"yaml", Kind::flag, "as a configuration in which every key is commented out"},
            {"minimal", Kind::flag, "as the smallest configuration"}},
           reference,
           answers::config_reference},
          {"config schema",
           "JSON Schema of the configuration, for editors.",
           {{"config schema > inboxd.schema.json", "for `# yaml-language-server: $schema=inboxd.schema.json`"}},
           Permission::read,
           Needs::nothing,
           {},
           schema,
           answers::config_schema}};
}

}  // namespace inboxd::admin
