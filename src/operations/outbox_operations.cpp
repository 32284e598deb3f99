// `outbox`: messages that the relay sends, and messages that it cannot send.
#include <set>
#include <variant>

#include "base/text.hpp"
#include "operations/answers.hpp"
#include "operations/documents.hpp"
#include "operations/find_event.hpp"
#include "operations/operation_table.hpp"
#include "operations/picked_rows.hpp"
#include "operations/row_columns.hpp"
#include "operations/status_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

/// An answer without a match names topics of this many stopped messages.
constexpr std::int64_t max_named = 1'000;

/// Which stopped messages a command is about; none of both: all.
struct StoppedFilter {
  RowIds outbox_ids;
  std::vector<std::string> topics;
};

std::variant<StoppedFilter, Answer> chosen_messages(const std::string& verb, const Arguments& arguments) {
  StoppedFilter filter;
  filter.topics = arguments.texts("topic");
  for (const std::string& id : arguments.texts("id")) {
    const auto number = parse_number(id);
    if (!number) {
      return Answer{base::ExitCode::usage, nullptr,
                    verb + ": \"" + id + "\" is not a message's number; see `outbox list`"};
    }
    filter.outbox_ids.push_back(*number);
  }
  if (!filter.topics.empty() || !filter.outbox_ids.empty() || arguments.flag("all")) return filter;
  return Answer{base::ExitCode::usage, nullptr, verb + ": pass numbers, --topic or --all"};
}

std::vector<PickedRow> pick_stopped(Context& context, const StoppedFilter& filter, std::int64_t limit) {
  return read_picked(*context.connection, inbox::statements::op_outbox_pick,
                     pqxx::params{array_parameter(filter.outbox_ids), like_patterns(filter.topics), limit});
}

std::string no_message_matches(Context& context) {
  std::set<std::string> topics;
  for (const PickedRow& message : pick_stopped(context, {}, max_named)) topics.insert(message.name);
  return "no stopped message matches; " +
         (topics.empty() ? "there is none" : "topics with stopped messages: " + base::joined(topics));
}

/// `statement` returns the number of lanes or messages that it has changed.
Answer change_stopped(Context& context, const Arguments& arguments, const std::string& verb,
                      const inbox::Statement& statement) {
  const auto chosen = chosen_messages(verb, arguments);
  if (const auto* const refused = std::get_if<Answer>(&chosen)) return *refused;
  const auto [ids, topics, more] = pick_rows(context, "outbox_ids", [&](const auto& agreed, std::int64_t limit) {
    if (agreed && agreed->empty()) return std::vector<PickedRow>{};
    auto filter = std::get<StoppedFilter>(chosen);
    if (agreed) filter.outbox_ids = *agreed;
    return pick_stopped(context, filter, limit);
  });
  const bool dry_run = arguments.flag("dry-run");
  Document document = {{"dry_run", dry_run}, {"matched", ids.size()}, {"topics", topics}};
  if (ids.empty()) return {base::ExitCode::no, document, no_message_matches(context)};
  if (dry_run) return {base::ExitCode::done, document, "", {{"outbox_ids", ids}}};
  std::int64_t done = 0;
  const bool interrupted = in_batches(context, {"changed"}, std::ssize(ids), [&, &ids = ids](auto begin, auto end) {
    const pqxx::params parameters{array_parameter(RowIds(ids.begin() + begin, ids.begin() + end)), context.actor,
                                  arguments.asked()};
    done += context.connection->access().run(statement, parameters)[0][0].as<std::int64_t>();
    return end;
  });
  document["changed"] = done;
  document["interrupted"] = interrupted;
  return {interrupted ? base::ExitCode::try_again : base::ExitCode::done, document, ""};
}

std::vector<Parameter> selection() {
  return {{"id", Parameter::Kind::texts, "numbers of stopped messages", "NUMBER", Parameter::Place::optional_word},
          {"topic", Parameter::Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
          {"all", Parameter::Kind::flag, "every stopped message"},
          dry_run_parameter(),
          yes_parameter()};
}

}  // namespace

Answer functions::outbox_list(Context& context, const Arguments& arguments) {
  const OutboxState state = read_outbox_state(*context.connection);
  Document document{
      {"oldest_seconds", seconds_of(state.oldest_age)},
      {"stopped", list_rows(*context.connection, inbox::statements::op_outbox_list,
                            pqxx::params{like_patterns(arguments.texts("topic")), *arguments.number("limit")},
                            columns::stopped_message)}};
  put_count(document, "backlog", state.backlog);
  put_count(document, "waiting", state.waiting);
  return {base::ExitCode::done, std::move(document), ""};
}

Answer functions::outbox_retry(Context& context, const Arguments& arguments) {
  return change_stopped(context, arguments, "outbox retry", inbox::statements::op_outbox_retry);
}

Answer functions::outbox_skip(Context& context, const Arguments& arguments) {
  return change_stopped(context, arguments, "outbox skip", inbox::statements::op_outbox_skip);
}

std::vector<Operation> outbox_operations() {
  using Kind = Parameter::Kind;
  return {
      {"outbox list",
       "Messages to send, and messages that the brokers refuse, with the number of messages that wait for each.",
       Permission::read_with_token,
       Needs::database,
       functions::outbox_list,
       answers::outbox_list,
       {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"}, limit_parameter(50)},
       {{"outbox list", "oldest first"}, {"outbox list --topic payments --json", "of one topic, for a program"}}},
      {"outbox retry",
       "Has the relay send stopped messages again within a second, and then the messages that wait for them, in order.",
       Permission::change,
       Needs::database,
       functions::outbox_retry,
       answers::outbox_change,
       selection(),
       {{"outbox retry --topic payments --dry-run", "shows how many"},
        {"outbox retry 4711 --yes", "one of them, without confirmation"}}},
      {"outbox skip",
       "Deletes stopped messages for good; messages that wait for them are sent. The audit has their ids.",
       Permission::change,
       Needs::database,
       functions::outbox_skip,
       answers::outbox_change,
       selection(),
       {{"outbox skip --topic payments --dry-run", "shows how many"},
        {"outbox skip 4711 --yes", "one of them, without confirmation"}}},
  };
}

}  // namespace inboxd::operations
