#include <algorithm>
#include <map>

#include "admin/answers.hpp"
#include "admin/documents.hpp"
#include "admin/find_event.hpp"
#include "admin/operations.hpp"
#include "base/uuid.hpp"
#include "inbox/operations_dead.hpp"

namespace inboxd::admin {
namespace {

using std::chrono::milliseconds;

/// One transaction's worth: short enough that nobody waits for it.
constexpr std::int64_t bite_letters = 500;

Document letter_document(const inbox::DeadLetter& letter, bool whole) {
  Document out = {{"dead_letter_id", letter.dead_letter_id},
                  {"handler", letter.handler},
                  {"state", letter.state},
                  {"attempts", letter.attempts},
                  {"died_at", time_of(letter.died_at)},
                  {"error_class", letter.error_class},
                  {"last_error", letter.message},
                  {"notes", text_of(letter.notes)}};
  if (whole) {
    out["reasons"] = Document::parse(letter.reasons.value_or("[]"), nullptr, false);
    out["event"] = whole_of(letter.event);
  } else {
    out["event"] = summary_of(letter.event);
  }
  return out;
}

inbox::DeadFilter filter_of(const Arguments& arguments) {
  inbox::DeadFilter out;
  out.handler = arguments.text("handler");
  out.types = arguments.texts("type");
  out.error_classes = arguments.texts("error");
  out.message = arguments.text("message");
  out.died = {arguments.time("since"), arguments.time("until")};
  return out;
}

bool is_empty(const inbox::DeadFilter& filter) {
  return !filter.handler && filter.types.empty() && filter.error_classes.empty() && !filter.message &&
         !filter.died.since && !filter.died.until && filter.dead_letter_ids.empty() && filter.event_ids.empty();
}

/// Puts the ids that a person typed into a filter; the first that is none comes back.
std::optional<std::string> take_ids(const std::vector<std::string>& ids, inbox::DeadFilter& filter) {
  for (const std::string& id : ids) {
    if (const auto uuid = base::parse_uuid(id)) {
      filter.event_ids.push_back(*uuid);
    } else if (const auto number = parse_number(id)) {
      filter.dead_letter_ids.push_back(*number);
    } else {
      return id;
    }
  }
  return std::nullopt;
}

Answer bad_id(const std::string& verb, const std::string& id) {
  return {
      base::ExitCode::usage, nullptr,
      verb + ": \"" + id +
          "\" is neither a dead letter's number nor an event_id; `dead list` shows the one, `dead list --json` both"};
}

Answer list(Context& context, const Arguments& arguments) {
  const auto filter = filter_of(arguments);
  Document groups = Document::array();
  std::int64_t total = 0;
  for (const auto& group : inbox::group_dead(*context.connection, filter)) {
    total += group.letters;
    groups.push_back({{"handler", group.handler},
                      {"error_class", group.error_class},
                      {"dead", group.letters},
                      {"first_died_at", time_of(group.first_died_at)},
                      {"last_died_at", time_of(group.last_died_at)}});
  }
  Document letters = Document::array();
  for (const auto& letter : inbox::list_dead(*context.connection, filter, *arguments.number("limit"))) {
    letters.push_back(letter_document(letter, false));
  }
  Answer out;
  if (letters.empty()) out = {base::ExitCode::no, nullptr, "no dead letter matches"};
  out.document = {{"total", total}, {"groups", std::move(groups)}, {"dead_letters", std::move(letters)}};
  return out;
}

Answer show(Context& context, const Arguments& arguments) {
  inbox::DeadFilter filter;
  if (const auto id = take_ids({*arguments.text("id")}, filter)) return bad_id("dead show", *id);
  Document letters = Document::array();
  for (const auto& letter : inbox::find_dead(*context.connection, filter.dead_letter_ids, filter.event_ids)) {
    letters.push_back(letter_document(letter, true));
  }
  Answer out;
  if (letters.empty()) out = {base::ExitCode::no, nullptr, "no such dead letter"};
  out.document = {{"dead_letters", std::move(letters)}};
  return out;
}

/// What is done to dead letters in bites.
struct Task {
  std::string verb;                            ///< `dead replay`
  std::string past;                            ///< `replayed`
  bool any_too = false;                        ///< those that cannot be replayed (now), too
  std::int64_t per_second = 0;                 ///< 0: as fast as it goes
};

struct Done {
  std::int64_t letters = 0;
  std::int64_t restored = 0;
  bool interrupted = false;
};

/// Works through ids bite by bite, with pauses that keep the rate.
template <class Bite>
Done in_bites(Context& context, const Task& task, const std::vector<std::int64_t>& ids, Bite bite) {
  Done done;
  const auto size = task.per_second > 0 ? std::min(task.per_second, bite_letters) : bite_letters;
  const auto total = static_cast<std::int64_t>(ids.size());
  for (std::int64_t at = 0; at < total; at += size) {
    const auto end = std::min(at + size, total);
    const inbox::Replayed some = bite(std::vector<std::int64_t>(ids.begin() + at, ids.begin() + end));
    done.letters += some.letters;
    done.restored += some.restored;
    context.progress({task.past, end, total});
    const auto rest = task.per_second > 0 && end < total ? milliseconds{1000 * (end - at) / task.per_second}
                                                         : milliseconds{0};
    if (context.pause(rest) && end < total) {
      done.interrupted = true;
      break;
    }
  }
  return done;
}

/// What a task is about.
struct Picked {
  std::vector<std::int64_t> ids;
  std::map<std::string, std::int64_t> handlers;
  bool more = false;       ///< others match, too
  inbox::NotNow left_out;  ///< those that match and are left alone
};

/// Every one by its id: what dies later may have a lower one, whose transaction was not over yet.
Document plan_of(const Picked& picked) { return {{"dead_letter_ids", picked.ids}, {"more", picked.more}}; }

Picked pick(Context& context, const inbox::DeadFilter& filter, const Task& task) {
  Picked out;
  auto wanted = filter;
  if (!context.agreed.is_null()) {
    wanted.dead_letter_ids = context.agreed.at("dead_letter_ids").get<std::vector<std::int64_t>>();
    wanted.event_ids.clear();
    out.more = context.agreed.at("more").get<bool>();
  }
  auto letters = inbox::pick_dead(*context.connection, wanted, task.any_too, context.most_rows + 1);
  if (static_cast<std::int64_t>(letters.size()) > context.most_rows) {
    out.more = true;
    letters.pop_back();
  }
  for (const auto& letter : letters) {
    out.ids.push_back(letter.dead_letter_id);
    ++out.handlers[letter.handler];
  }
  if (!task.any_too) out.left_out = inbox::count_dead_not_now(*context.connection, filter);
  return out;
}

std::string why_none(const inbox::NotNow& left_out) {
  if (left_out.awaited > 0) {
    return "only dead letters match that a back-fill of their handler has yet to come by; it owes their events again, "
           "and what is left then can be replayed";
  }
  return left_out.retired > 0 ? "only dead letters of retired handlers match; those can be discarded only"
                              : "no dead letter matches";
}

std::string about_more(const Task& task, const Picked& picked, const std::string& how) {
  if (!picked.more) return "";
  return task.verb + ": more match than one command takes on; the first " + std::to_string(picked.ids.size()) + " " +
         how + " taken; run it again for the rest";
}

/// The part that replay and discard share: what is meant, how many, the bites, the answer.
template <class Bite>
Answer work_through(Context& context, const Arguments& arguments, const Task& task, Bite bite) {
  auto filter = filter_of(arguments);
  if (const auto id = take_ids(arguments.texts("id"), filter)) return bad_id(task.verb, *id);
  if (is_empty(filter) && !arguments.flag("all")) {
    return {base::ExitCode::usage, nullptr, task.verb + ": which ones? Give IDs or filters, or --all"};
  }
  const Picked picked = pick(context, filter, task);
  const auto& ids = picked.ids;
  const bool dry_run = arguments.flag("dry-run");
  Document document = {
      {"dry_run", dry_run}, {"matched", ids.size()}, {"more", picked.more}, {"handlers", picked.handlers}};
  if (picked.left_out.retired > 0) document["of_retired_handlers"] = picked.left_out.retired;
  if (picked.left_out.awaited > 0) document["awaited_by_backfill"] = picked.left_out.awaited;
  if (ids.empty()) return {base::ExitCode::no, document, why_none(picked.left_out)};
  if (dry_run) return {base::ExitCode::done, document, about_more(task, picked, "would be"), plan_of(picked)};
  const Done done = in_bites(context, task, ids, bite);
  document[task.past] = done.letters;
  if (task.past == "replayed") document["restored"] = done.restored;
  document["interrupted"] = done.interrupted;
  if (!done.interrupted) return {base::ExitCode::done, document, about_more(task, picked, "were")};
  return {base::ExitCode::try_again, document,
          task.verb + ": stopped after " + std::to_string(done.letters) + " of " + std::to_string(ids.size()) +
              "; the same command goes on with the rest"};
}

Answer replay(Context& context, const Arguments& arguments) {
  const Task task{"dead replay", "replayed", false, arguments.number("rate").value_or(0)};
  return work_through(context, arguments, task, [&](const std::vector<std::int64_t>& ids) {
    return inbox::replay_dead(*context.connection, ids, {context.actor, arguments.asked()});
  });
}

Answer discard(Context& context, const Arguments& arguments) {
  const Task task{"dead discard", "discarded", true, 0};
  return work_through(context, arguments, task, [&](const std::vector<std::int64_t>& ids) {
    return inbox::Replayed{inbox::discard_dead(*context.connection, ids, {context.actor, arguments.asked()}), 0};
  });
}

std::vector<Parameter> filter_parameters() {
  using Kind = Parameter::Kind;
  return {{"handler", Kind::text, "of this handler", "NAME"},
          {"type", Kind::texts, "events of this type; NAME* for a prefix", "TYPE"},
          {"error", Kind::texts, "whose last error is of this class; NAME* for a prefix", "CLASS"},
          {"message", Kind::text, "whose last error's message has this in it", "TEXT"},
          since_parameter("died"),
          until_parameter("died")};
}

/// Of an operation that changes dead letters.
std::vector<Parameter> change_parameters() {
  using Kind = Parameter::Kind;
  auto out = filter_parameters();
  out.insert(out.begin(),
             {"id", Kind::texts, "dead letters' numbers or event_ids", "ID", Parameter::Place::optional_word});
  out.push_back({"all", Kind::flag, "every dead letter there is"});
  out.push_back(dry_run_parameter());
  out.push_back(yes_parameter());
  return out;
}

std::vector<Parameter> list_parameters() {
  auto out = filter_parameters();
  out.push_back(limit_parameter(50));
  return out;
}

std::vector<Parameter> replay_parameters() {
  auto out = change_parameters();
  Parameter rate{"rate", Parameter::Kind::number, "at most so many per second", "N"};
  rate.least = 1;
  rate.most = 1'000'000;
  out.push_back(rate);
  return out;
}

}  // namespace

std::vector<Operation> dead_operations() {
  using Kind = Parameter::Kind;
  return {
      {"dead list",
       "Events that a handler gave up on, newest first, and how many of each kind there are.",
       {{"dead list", "the newest of all handlers"},
        {"dead list --handler billing --since 2h", "of one handler, of the last two hours"},
        {"dead list --error \"timeout*\" --json", "by class of the last error, for a program"}},
       Permission::read,
       Needs::database,
       list_parameters(),
       list,
       answers::dead_list},
      {"dead show",
       "One dead letter: the event as it was, and the reasons of every attempt.",
       {{"dead show 12", "by the number that the list shows"},
        {"dead show 0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f", "by event_id, of every handler that gave up on it"}},
       Permission::read,
       Needs::database,
       {{"id", Kind::text, "number or event_id", "ID", Parameter::Place::word}},
       show,
       answers::dead_show},
      {"dead replay",
       "Gives dead letters back to their handlers: from the first attempt, in the order of their partitions.",
       {{"dead replay --handler billing --error \"timeout*\" --dry-run", "how many that would be"},
        {"dead replay --handler billing --error \"timeout*\" --rate 50", "50 a second, after asking"},
        {"dead replay 12 13 --yes", "two of them, without asking"}},
       Permission::change,
       Needs::database,
       replay_parameters(),
       replay,
       answers::dead_replay},
      {"dead discard",
       "Removes dead letters for good; that they were there stays on record.",
       {{"dead discard --handler billing --until 90d --dry-run", "how many that would be"},
        {"dead discard 12 --yes", "one of them, without asking"}},
       Permission::change,
       Needs::database,
       change_parameters(),
       discard,
       answers::dead_discard},
  };
}

}  // namespace inboxd::admin
