#include <algorithm>
#include <map>
#include <variant>

#include "base/text.hpp"
#include "operations/documents.hpp"
#include "operations/find_event.hpp"
#include "operations/operation_table.hpp"
#include "operations/page_mark.hpp"
#include "operations/quarantine_queries.hpp"
#include "operations/quarantine_retry.hpp"
#include "operations/unknown_name.hpp"

namespace inboxd::operations {
namespace {

/// Groups by topic and reason.
constexpr std::int64_t max_groups = 1'000;

QuarantineFilter filter_of(const Arguments& arguments) {
  return {arguments.texts("topic"), arguments.texts("reason"), {arguments.time("since"), arguments.time("until")}, {}};
}

/// The remedy for topics without an id in any listed record.
std::string remedy_for(const Document& records) {
  std::map<std::string, bool> without_id;
  for (const auto& record : records) {
    const auto [topic, is_new] = without_id.try_emplace(record.at("topic"), true);
    topic->second = topic->second && record.at("reason") == "no_id";
  }
  std::string topics, options;
  for (const auto& [topic, all] : without_id) {
    if (!all) continue;
    topics.append(topics.empty() ? "" : ", ").append(topic);
    options.append(" --topic ").append(topic);
  }
  if (topics.empty()) return "";
  return "no listed record of " + topics +
         " has an id: set topics[].on_missing_id or "
         "custom.id (with envelope: custom), restart the daemon, then `inboxd quarantine "
         "retry" +
         options + "`";
}

struct Picked {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> bytes;  ///< of each
  std::map<std::string, std::int64_t> topics;
  bool more = false;          ///< more match
  std::int64_t not_kept = 0;  ///< matches that were too large to keep: left out of a retry
};

/// Lists every number: a later record can have a lower number.
Document plan_of(const Picked& picked) { return {{"quarantine_ids", picked.ids}, {"more", picked.more}}; }

Picked pick(Context& context, QuarantineFilter filter, bool kept_only) {
  Picked out;
  if (!context.agreed.is_null()) {
    filter.quarantine_ids = context.agreed.at("quarantine_ids").get<std::vector<std::int64_t>>();
    out.more = context.agreed.at("more").get<bool>();
  }
  auto records = pick_quarantined(*context.connection, filter, context.max_rows + 1);
  if (static_cast<std::int64_t>(records.size()) > context.max_rows) {
    out.more = true;
    records.pop_back();
  }
  for (const auto& record : records) {
    if (kept_only && !record.was_kept) {
      ++out.not_kept;
      continue;
    }
    out.ids.push_back(record.quarantine_id);
    out.bytes.push_back(record.bytes);
    ++out.topics[record.topic];
  }
  return out;
}

/// The filter as typed, or its mistake.
std::variant<QuarantineFilter, Answer> chosen_records(const std::string& verb, const Arguments& arguments) {
  auto filter = filter_of(arguments);
  for (const std::string& id : arguments.texts("id")) {
    const auto number = parse_number(id);
    if (!number) {
      return Answer{base::ExitCode::usage, nullptr,
                    verb + ": \"" + id + "\" is not a record's number; see `quarantine list`"};
    }
    filter.quarantine_ids.push_back(*number);
  }
  const bool is_empty = filter.topics.empty() && filter.reasons.empty() && !filter.received.since &&
                        !filter.received.until && filter.quarantine_ids.empty();
  if (!is_empty || arguments.flag("all")) return filter;
  return Answer{base::ExitCode::usage, nullptr, verb + ": pass numbers, filters or --all"};
}

Document task_document(const Picked& picked, const Arguments& arguments) {
  Document out = {{"dry_run", arguments.flag("dry-run")},
                  {"matched", picked.ids.size()},
                  {"more", picked.more},
                  {"topics", picked.topics}};
  if (picked.not_kept > 0) out["not_kept"] = picked.not_kept;
  return out;
}

std::string about_more(const Picked& picked) {
  if (!picked.more) return "";
  return "limited to the first " + std::to_string(picked.ids.size()) + " records; repeat the command for the rest";
}

std::string about_not_kept(const Picked& picked) {
  if (picked.not_kept == 0) return "";
  return std::to_string(picked.not_kept) +
         " of the matching records were too large to keep, so they cannot be retried; raise topics[].payload_limit, "
         "and while Kafka has them, inboxd partitions seek TOPIC PARTITION --to OFFSET reads them again (inboxd "
         "quarantine list has the places); then inboxd quarantine discard";
}

/// Joins sentences about a command.
std::string message_of(const std::string& verb, const std::vector<std::string>& sentences) {
  std::vector<std::string> said;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) said.push_back(sentence);
  }
  if (said.empty()) return "";
  std::string out = verb + ": ";
  for (const std::string& sentence : said) out.append(&sentence == &said.front() ? "" : "; ").append(sentence);
  return out;
}

std::string about_stop(std::int64_t done, std::size_t of, bool dry_run) {
  return "stopped after " + std::to_string(done) + " of " + std::to_string(of) + " records" +
         (dry_run ? "" : "; repeat the command for the rest");
}

/// The most bytes of a batch of records, unless a single record is larger.
constexpr std::int64_t batch_bytes = 8 << 20;

std::int64_t end_of_batch(const Picked& picked, std::int64_t begin, std::int64_t end) {
  std::int64_t bytes = 0;
  for (std::int64_t at = begin; at < end; ++at) {
    bytes += picked.bytes[static_cast<std::size_t>(at)];
    if (bytes > batch_bytes) return std::max(at, begin + 1);
  }
  return end;
}

std::vector<std::int64_t> ids_of(const Picked& picked, std::int64_t begin, std::int64_t end) {
  return {picked.ids.begin() + begin, picked.ids.begin() + end};
}

void put_counts(Document& into, const RetryCounts& counts) {
  into["events"] = counts.events;
  into["duplicates"] = counts.duplicates;
  into["skipped"] = counts.skipped;
  into["unsubscribed"] = counts.unsubscribed;
  into["still"] = Document::object();
  for (const auto& [reason, records] : counts.still) into["still"][reason] = records;
}

std::string about_unknown_topics(const RetryCounts& counts) {
  if (counts.unknown_topics.empty()) return "";
  return "not configured, so its records stay: topic " + base::joined(counts.unknown_topics);
}

std::string about_unsubscribed(const RetryCounts& counts, bool dry_run) {
  if (!counts.example) return "";
  const std::string type = counts.example->event_type.empty() ? "no type" : "type " + counts.example->event_type;
  return "no handler subscribes to " + std::to_string(counts.unsubscribed) + " of the events (topic " +
         counts.example->topic + ", " + type + "): " +
         (dry_run ? "correct handlers[].subscribe and restart the daemon before the retry"
                  : "to deliver them, add a handler of this type alone with start: beginning");
}

/// If no record of a dry run would become an event.
std::string about_rules(const RetryCounts& counts, bool dry_run) {
  if (!dry_run || counts.events > 0 || counts.still.empty() || counts.still.begin()->first == not_configured) return "";
  if (counts.still.begin()->first == "conflict" && counts.still.size() == 1) {
    return "their ids are known with other content, and no setting changes that; look with `inboxd quarantine "
           "show`, then discard them";
  }
  return "none of them would become an event; " + counts.why_still;
}

}  // namespace

Answer functions::quarantine_list(Context& context, const Arguments& arguments) {
  const auto before = read_before("quarantine list", arguments, 1);
  if (before.refusal) return *before.refusal;
  const auto limit = *arguments.number("limit");
  const auto below = before.mark ? std::optional{before.mark->front()} : std::nullopt;
  const Document records = list_quarantined(*context.connection, filter_of(arguments), limit, below);
  Document document{{"records", records}};
  if (arguments.flag("groups")) {
    document["groups"] = group_quarantined(*context.connection, filter_of(arguments), max_groups);
  }
  document["next"] = nullptr;
  if (std::ssize(records) == limit) {
    document["next"] = text_of_mark({records.back().at("quarantine_id").get<std::int64_t>()});
  }
  if (!records.empty()) return {base::ExitCode::done, std::move(document), remedy_for(records)};
  return nothing_matches(context, arguments, std::move(document), "nothing in quarantine matches");
}

Answer functions::quarantine_show(Context& context, const Arguments& arguments) {
  const std::string id = *arguments.text("id");
  Document records;
  if (const auto place = parse_place(id)) {
    records = find_quarantined(*context.connection, place->topic, place->partition, place->offset);
  } else if (const auto number = parse_number(id)) {
    records = find_quarantined(*context.connection, *number);
  } else {
    return {base::ExitCode::usage, nullptr,
            "quarantine show: pass a number from `quarantine list`, or TOPIC/PARTITION/OFFSET"};
  }
  Answer out;
  if (records.empty()) out = {base::ExitCode::no, nullptr, "quarantine show: no record \"" + id + "\" in quarantine"};
  out.document = {{"records", std::move(records)}};
  return out;
}

Answer functions::quarantine_retry(Context& context, const Arguments& arguments) {
  const std::string verb = "quarantine retry";
  auto filter = chosen_records(verb, arguments);
  if (auto* const refused = std::get_if<Answer>(&filter)) return std::move(*refused);
  const Picked picked = pick(context, std::get<0>(filter), true);
  const bool dry_run = arguments.flag("dry-run");
  Document document = task_document(picked, arguments);
  if (picked.ids.empty()) {
    const std::string none = picked.not_kept > 0 ? about_not_kept(picked) : "no record in quarantine matches";
    return {base::ExitCode::no, document, message_of(verb, {none})};
  }
  Retry work{context, {context.actor, arguments.asked()}, dry_run};
  std::int64_t done = 0;
  const Pace pace{dry_run ? "read" : "retried", dry_run ? 0 : arguments.number("rate").value_or(0)};
  const bool interrupted = in_batches(context, pace, static_cast<std::int64_t>(picked.ids.size()),
                                      [&](std::int64_t begin, std::int64_t end) {
                                        done = end_of_batch(picked, begin, end);
                                        work.run(ids_of(picked, begin, done));
                                        return done;
                                      });
  if (!dry_run) note_fed(*context.connection);
  put_counts(document, work.counts());
  document["interrupted"] = interrupted;
  const std::string told =
      message_of(verb, {interrupted ? about_stop(done, picked.ids.size(), dry_run) : about_more(picked),
                        about_not_kept(picked), about_unknown_topics(work.counts()),
                        about_unsubscribed(work.counts(), dry_run), about_rules(work.counts(), dry_run)});
  return {interrupted ? base::ExitCode::try_again : base::ExitCode::done, document, told, plan_of(picked)};
}

Answer functions::quarantine_discard(Context& context, const Arguments& arguments) {
  const std::string verb = "quarantine discard";
  auto filter = chosen_records(verb, arguments);
  if (auto* const refused = std::get_if<Answer>(&filter)) return std::move(*refused);
  const Picked picked = pick(context, std::get<0>(filter), false);
  Document document = task_document(picked, arguments);
  if (picked.ids.empty()) {
    return {base::ExitCode::no, document, message_of(verb, {"no record in quarantine matches"})};
  }
  if (arguments.flag("dry-run")) {
    return {base::ExitCode::done, document, message_of(verb, {about_more(picked)}), plan_of(picked)};
  }
  std::int64_t done = 0;
  std::int64_t discarded = 0;
  const bool interrupted = in_batches(
      context, {"discarded"}, static_cast<std::int64_t>(picked.ids.size()), [&](std::int64_t begin, std::int64_t end) {
        discarded +=
            discard_quarantined(*context.connection, ids_of(picked, begin, end), {context.actor, arguments.asked()});
        return done = end;
      });
  document["discarded"] = discarded;
  document["interrupted"] = interrupted;
  return {interrupted ? base::ExitCode::try_again : base::ExitCode::done, document,
          message_of(verb, {interrupted ? about_stop(done, picked.ids.size(), false) : about_more(picked)})};
}

}  // namespace inboxd::operations
