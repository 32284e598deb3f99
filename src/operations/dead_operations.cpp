#include <algorithm>

#include "base/text.hpp"
#include "config/units.hpp"
#include "operations/dead_queries.hpp"
#include "operations/documents.hpp"
#include "operations/find_dead.hpp"
#include "operations/key_argument.hpp"
#include "operations/late_decoding.hpp"
#include "operations/operation_table.hpp"
#include "operations/page_mark.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

/// Groups by handler and error class above the list.
constexpr std::int64_t max_groups = 1'000;

struct ReadFilter {
  DeadFilter filter;
  std::optional<Answer> refusal;
};

ReadFilter read_filter(const std::string& verb, const Arguments& arguments) {
  DeadFilter out;
  out.handler = arguments.text("handler");
  out.types = arguments.texts("type");
  out.error_classes = arguments.texts("error");
  out.message = arguments.text("message");
  out.died = {arguments.time("since"), arguments.time("until")};
  auto key = read_key(verb, arguments);
  out.key = std::move(key.key);
  return {std::move(out), std::move(key.refusal)};
}

bool is_empty(const DeadFilter& filter) {
  return !filter.handler && filter.types.empty() && filter.error_classes.empty() && !filter.message &&
         !filter.died.since && !filter.died.until && !filter.key && filter.dead_letter_ids.empty() &&
         filter.event_ids.empty();
}

struct Task {
  std::string verb;             ///< `dead replay`
  std::string past;             ///< `replayed`
  bool any_too = false;         ///< includes dead letters that cannot be replayed (now)
  std::int64_t per_second = 0;  ///< 0: unlimited
};

struct Done {
  std::int64_t picked = 0;   ///< of the picked dead letters, also dead letters that were gone
  std::int64_t letters = 0;  ///< discarded
  Replayed brought_back;
  bool interrupted = false;
};

template <class Batch>
Done work_off(Context& context, const Arguments& arguments, const Task& task, const std::vector<std::int64_t>& ids,
              Batch batch) {
  Done done;
  bool is_stopped = false;
  const auto total = static_cast<std::int64_t>(ids.size());
  const bool interrupted =
      in_batches(context, {"worked through", task.per_second}, total, [&](std::int64_t begin, std::int64_t end) {
        if (is_stopped) return end;
        done.picked = end;
        const Discarded some = batch(std::vector<std::int64_t>(ids.begin() + begin, ids.begin() + end));
        done.letters += some.letters;
        done.brought_back.letters += some.released.letters;
        done.brought_back.restored += some.released.restored;
        const Deed deed{context.actor, arguments.asked()};
        is_stopped = !bring_back_rest(context, task.verb, deed, some.released.parking, done.brought_back);
        return end;
      });
  done.interrupted = interrupted || is_stopped;
  return done;
}

struct PickedLetters : PickedRows {
  /// Events that fail again die later: with --until, a repeated command leaves their new dead letters alone, so that it
  /// ends.
  event::Microseconds until = 0;
  NotNow left_out{};          ///< matches that are left alone
  std::int64_t parked = 0;  ///< events parked by the dead letters, which are replayed or released
};

/// Lists every id: a later dead letter can have a lower id, from a transaction that was still open.
Document plan_of(const PickedLetters& picked) {
  return {{"dead_letter_ids", picked.ids}, {"more", picked.more}, {"until", picked.until}};
}

PickedLetters pick_letters(Context& context, const DeadFilter& filter, const Task& task) {
  PickedLetters out{pick_rows(context, "dead_letter_ids", [&](const auto& agreed, std::int64_t limit) {
    auto wanted = filter;
    if (agreed) {
      wanted.dead_letter_ids = *agreed;
      wanted.event_ids.clear();
    }
    return pick_dead(*context.connection, wanted, task.any_too, limit);
  })};
  if (context.agreed.is_null()) {
    const auto now = database_time(*context.connection);
    out.until = std::min(filter.died.until.value_or(now), now);
  } else {
    out.until = context.agreed.at("until").get<event::Microseconds>();
  }
  if (!task.any_too) out.left_out = count_dead_not_now(*context.connection, filter);
  if (!out.ids.empty()) out.parked = count_parked_behind(*context.connection, out.ids);
  return out;
}

std::string why_none(const NotNow& left_out) {
  if (left_out.awaited > 0) {
    return "a back-fill of the handler has yet to pass the matching dead letters and may deliver their events; replay "
           "the rest after it";
  }
  if (left_out.parked > 0) {
    return "only parked events match; replay the dead letter that parks their key, or run `inboxd lanes release`";
  }
  return left_out.retired > 0 ? "only dead letters of retired handlers match; discard them, or restore the handler"
                              : "no dead letter matches";
}

std::string about_rest(const PickedLetters& picked) {
  return "; for the rest, repeat the command with --until " + config::time_text(picked.until);
}

std::string about_more(const Task& task, const PickedLetters& picked) {
  if (!picked.more) return "";
  return task.verb + ": limited to the first " + std::to_string(picked.ids.size()) + about_rest(picked);
}

/// The common part of replay and discard, once the filter is complete.
template <class Batch>
Answer work_on(Context& context, const Arguments& arguments, const Task& task, const DeadFilter& filter, Batch batch) {
  const PickedLetters picked = pick_letters(context, filter, task);
  const auto& ids = picked.ids;
  const bool dry_run = arguments.flag("dry-run");
  Document document = {
      {"dry_run", dry_run}, {"matched", ids.size()}, {"more", picked.more}, {"handlers", picked.names}};
  if (picked.left_out.retired > 0) document["of_retired_handlers"] = picked.left_out.retired;
  if (picked.left_out.awaited > 0) document["awaited_by_backfill"] = picked.left_out.awaited;
  if (picked.parked > 0) document["parked"] = picked.parked;
  if (ids.empty()) {
    return nothing_matches(context, arguments, document, why_none(picked.left_out));
  }
  if (dry_run) return {base::ExitCode::done, document, about_more(task, picked), plan_of(picked)};
  const Done done = work_off(context, arguments, task, ids, batch);
  if (task.past == "replayed") {
    document[task.past] = done.letters + done.brought_back.letters;
    document["restored"] = done.brought_back.restored;
  } else {
    document[task.past] = done.letters;
    if (done.brought_back.letters > 0) document["released"] = done.brought_back.letters;
  }
  const std::int64_t changed = done.letters + done.brought_back.letters;  // parked dead letters came along
  if (picked.parked == 0 && changed < done.picked) document["changed_meanwhile"] = done.picked - changed;
  document["interrupted"] = done.interrupted;
  if (!done.interrupted) return {base::ExitCode::done, document, about_more(task, picked)};
  return {base::ExitCode::try_again, document,
          task.verb + ": stopped after " + std::to_string(done.picked) + " of " + std::to_string(ids.size()) +
              about_rest(picked)};
}

template <class Batch>
Answer work_through(Context& context, const Arguments& arguments, const Task& task, Batch batch) {
  auto [filter, refusal] = read_filter(task.verb, arguments);
  if (refusal) return *refusal;
  auto found = find_letters(context, task.verb, arguments.texts("id"), Digits::number);
  if (found.refusal) {
    found.refusal->document.update(Document{
        {"dry_run", arguments.flag("dry-run")}, {"matched", 0}, {"more", false}, {"handlers", Document::object()}});
    return *found.refusal;
  }
  filter.dead_letter_ids = std::move(found.dead_letter_ids);
  filter.event_ids = std::move(found.event_ids);
  if (is_empty(filter) && !arguments.flag("all")) {
    return {base::ExitCode::usage, nullptr, task.verb + ": pass IDs, filters or --all"};
  }
  Answer out = work_on(context, arguments, task, filter, batch);
  if (!found.missing.empty()) {
    out.message += (out.message.empty() ? "" : "; ") + about_missing(task.verb, found.missing);
  }
  return out;
}

void continue_after(DeadFilter& filter, const PageMark& mark) {
  filter.after = DeadRank{mark[0], mark[1]};
  filter.died.until = std::min(filter.died.until.value_or(mark[0] + 1), mark[0] + 1);
}

Document mark_of(const DeadRank& last) { return text_of_mark({last.died_at, last.dead_letter_id}); }

}  // namespace

Answer functions::dead_list(Context& context, const Arguments& arguments) {
  auto [filter, refusal] = read_filter("dead list", arguments);
  if (refusal) return *refusal;
  const auto before = read_before("dead list", arguments, 2);
  if (before.refusal) return *before.refusal;
  const auto by = arguments.text("group-by");
  if (by && *by != "error" && *by != "type" && *by != "handler") {
    return {base::ExitCode::usage, nullptr, "dead list: --group-by takes error, type or handler"};
  }
  const auto limit = *arguments.number("limit");
  auto found = group_dead(*context.connection, filter, by, by ? limit : max_groups);
  if (before.mark) continue_after(filter, *before.mark);
  const DeadList list = by ? DeadList{} : list_dead(*context.connection, filter, limit);
  Document document{{"total", found.letters},
                    {"groups", std::move(found.groups)},
                    {"dead_letters", list.letters},
                    {"next", std::ssize(list.letters) < limit || by ? Document(nullptr) : mark_of(list.last)}};
  if (found.letters > 0) return {base::ExitCode::done, std::move(document), ""};
  return nothing_matches(context, arguments, std::move(document), "no dead letter matches");
}

Answer functions::dead_show(Context& context, const Arguments& arguments) {
  const auto found = find_letters(context, "dead show", {*arguments.text("id")}, Digits::number_or_producers_id);
  if (found.refusal) return *found.refusal;
  Document letters = Document::array();
  for (const auto& letter : find_dead(*context.connection, found.dead_letter_ids, found.event_ids)) {
    Document document = letter_document(letter, true);
    const auto edit = edit_of(*context.connection, letter);
    document["edit"] = edit ? edit->document : Document(nullptr);
    letters.push_back(std::move(document));
  }
  return {base::ExitCode::done, {{"dead_letters", std::move(letters)}}, ""};
}

Answer functions::dead_replay(Context& context, const Arguments& arguments) {
  const Task task{"dead replay", "replayed", false, arguments.number("rate").value_or(0)};
  LateDecoding late{context};
  return work_through(context, arguments, task, [&](const std::vector<std::int64_t>& ids) {
    late.run(ids);
    return Discarded{0, replay_dead(*context.connection, ids, {context.actor, arguments.asked()})};
  });
}

Answer functions::dead_discard(Context& context, const Arguments& arguments) {
  const Task task{"dead discard", "discarded", true, 0};
  return work_through(context, arguments, task, [&](const std::vector<std::int64_t>& ids) {
    return discard_dead(*context.connection, ids, {context.actor, arguments.asked()});
  });
}

}  // namespace inboxd::operations
