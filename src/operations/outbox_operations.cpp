// `outbox`: messages that the relay sends, and messages that it cannot send.
#include <map>
#include <set>
#include <variant>

#include "base/text.hpp"
#include "operations/answers.hpp"
#include "operations/documents.hpp"
#include "operations/find_event.hpp"
#include "operations/operation_table.hpp"
#include "operations/outbox_queries.hpp"

namespace inboxd::operations {
namespace {

/// An answer without a match names topics of this many stopped messages.
constexpr std::int64_t max_named = 1'000;

using Change = std::int64_t(inbox::Connection&, const std::vector<std::int64_t>&, const Deed&);

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

/// The ids of the dry run that the caller agreed to.
std::vector<PickedMessage> pick(Context& context, StoppedFilter filter) {
  if (!context.agreed.is_null()) {
    filter.outbox_ids = context.agreed.at("outbox_ids").get<std::vector<std::int64_t>>();
    if (filter.outbox_ids.empty()) return {};
  }
  return pick_stopped(*context.connection, filter, context.max_rows);
}

std::string nothing_matches(Context& context) {
  std::set<std::string> topics;
  for (const PickedMessage& message : pick_stopped(*context.connection, {}, max_named)) topics.insert(message.topic);
  return "no stopped message matches; " +
         (topics.empty() ? "there is none" : "topics with stopped messages: " + base::joined(topics));
}

Answer change(Context& context, const Arguments& arguments, const std::string& verb, Change* apply) {
  auto filter = chosen_messages(verb, arguments);
  if (auto* const refused = std::get_if<Answer>(&filter)) return std::move(*refused);
  std::vector<std::int64_t> ids;
  std::map<std::string, std::int64_t> topics;
  for (const PickedMessage& message : pick(context, std::get<0>(filter))) {
    ids.push_back(message.outbox_id);
    ++topics[message.topic];
  }
  const bool dry_run = arguments.flag("dry-run");
  Document document = {{"dry_run", dry_run}, {"matched", ids.size()}, {"topics", topics}};
  if (ids.empty()) return {base::ExitCode::no, document, nothing_matches(context)};
  if (dry_run) return {base::ExitCode::done, document, "", {{"outbox_ids", ids}}};
  std::int64_t done = 0;
  const Deed deed{context.actor, arguments.asked()};
  const auto total = static_cast<std::int64_t>(ids.size());
  const bool interrupted = in_batches(context, {"changed"}, total, [&](std::int64_t begin, std::int64_t end) {
    done += apply(*context.connection, {ids.begin() + begin, ids.begin() + end}, deed);
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
      {"stopped", list_stopped(*context.connection, arguments.texts("topic"), *arguments.number("limit"))}};
  put_count(document, "backlog", state.backlog);
  put_count(document, "waiting", state.waiting);
  return {base::ExitCode::done, std::move(document), ""};
}

Answer functions::outbox_retry(Context& context, const Arguments& arguments) {
  return change(context, arguments, "outbox retry", retry_stopped);
}

Answer functions::outbox_skip(Context& context, const Arguments& arguments) {
  return change(context, arguments, "outbox skip", skip_stopped);
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
