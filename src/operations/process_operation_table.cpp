// The rows about a process, its configuration and the schema of its database.
#include "operations/answers.hpp"
#include "operations/operation_table.hpp"

namespace inboxd::operations {

std::vector<Operation> process_operations() {
  using Kind = Parameter::Kind;
  constexpr auto read = Permission::read;
  constexpr auto read_with_token = Permission::read_with_token;
  return {
      {"history",
       "Figures of the last hour or day in steps, of all instances: rates, lag, durations of calls, failures; and what "
       "happened: starts, crashes, changes, faults.",
       read,
       Needs::daemon,
       functions::history_show,
       answers::history_show,
       {{"span", Kind::text, "1h (default) in steps of 10 s, or 24h in steps of 5 min", "SPAN"}},
       {{"history", "of the last hour: the last value and the highest"},
        {"history --span 24h --json", "of the last day, every step, for a program"}}},

      {"check",
       "Checks database, brokers and topics from where the running daemon runs; exit status 1 on a problem.",
       read_with_token,
       Needs::daemon,
       functions::check,
       answers::check,
       {},
       {{"check --running", "asks the daemon of this configuration over its admin port; needs a token"}},
       nullptr,
       {},
       true},
      {"config show",
       "Every key in force in the running daemon, with its value and origin; secrets as stars.",
       read_with_token,
       Needs::daemon,
       functions::config_show,
       answers::config_show,
       {},
       {{"config show --running", "asks the daemon of this configuration over its admin port; needs a token"}},
       nullptr,
       {},
       true},
      {"config reference",
       "Every key: its effect, its values, its default.",
       read,
       Needs::nothing,
       functions::config_reference,
       answers::config_reference,
       {{"yaml", Kind::flag, "as a configuration with every key commented out"},
        {"minimal", Kind::flag, "as the smallest configuration"}},
       {{"config reference", "to read"},
        {"config reference --yaml > inboxd.yaml", "a file to start with: all keys, commented out"},
        {"config reference --minimal > inboxd.yaml", "the required keys only"}}},
      {"config schema",
       "JSON Schema of the configuration, for editors.",
       read,
       Needs::nothing,
       functions::config_schema,
       answers::config_schema,
       {},
       {{"config schema > inboxd.schema.json", "for `# yaml-language-server: $schema=inboxd.schema.json`"}}},

      {"migrate",
       "Shows applied and due migrations. Changes nothing: applying them takes the owner's rights, which a daemon "
       "should not have.",
       read,
       Needs::database,
       functions::migrate,
       answers::migrate,
       {{"plan", Kind::flag, "with the SQL that is due"}},
       {{"migrate --check", "exit status 1 if something is due"}},
       nullptr,
       {},
       true},

      {"version",
       "The versions of inboxd and of its libraries.",
       read,
       Needs::nothing,
       functions::version,
       answers::version,
       {},
       {{"version", "prints them"}}},
  };
}

}  // namespace inboxd::operations
