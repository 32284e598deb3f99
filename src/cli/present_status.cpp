#include <algorithm>
#include <map>

#include "cli/present.hpp"
#include "cli/table.hpp"
#include "cli/words.hpp"

namespace inboxd::cli {
namespace {

/// More partitions than this are summed up by topic.
constexpr std::size_t most_partitions = 24;

struct TopicSum {
  std::int64_t partitions = 0;
  std::int64_t position = 0;
  std::int64_t high_watermark = 0;
  std::int64_t lag = 0;
  std::int64_t halted = 0;
};

std::int64_t whole_at(const Document& document, const char* key) {
  const auto& value = document.at(key);
  return value.is_null() ? 0 : value.get<std::int64_t>();
}

/// What the brokers said a moment ago may be behind what was read since.
std::string high_text(const Document& shard) {
  if (shard.at("high_watermark").is_null()) return "";
  return number_text(std::max(whole_at(shard, "high_watermark"), whole_at(shard, "position")));
}

Tone tone_of_lag(std::int64_t lag) { return lag > 0 ? Tone::warning : Tone::plain; }

std::string sums_by_topic(const Document& shards, const Look& look) {
  std::map<std::string, TopicSum> topics;
  for (const auto& shard : shards) {
    TopicSum& sum = topics[text_at(shard, "topic")];
    ++sum.partitions;
    sum.position += whole_at(shard, "position");
    sum.high_watermark += whole_at(shard, "high_watermark");
    sum.lag += whole_at(shard, "lag");
    sum.halted += shard.at("halted_reason").is_null() ? 0 : 1;
  }
  Table table{{{"TOPIC", Align::left, true}, {"PARTITIONS", Align::right}, {"POSITIONS", Align::right},
               {"HIGH", Align::right}, {"LAG", Align::right}, {"HALTED", Align::right}}};
  for (const auto& [topic, sum] : topics) {
    table.add({{topic},
               {number_text(sum.partitions)},
               {number_text(sum.position)},
               {number_text(sum.high_watermark)},
               {number_text(sum.lag), tone_of_lag(sum.lag)},
               {number_text(sum.halted), sum.halted > 0 ? Tone::bad : Tone::plain}});
  }
  return table.text(look);
}

std::string each_partition(const Document& shards, const Look& look) {
  Table table{{{"TOPIC", Align::left, true}, {"PARTITION", Align::right}, {"POSITION", Align::right},
               {"HIGH", Align::right}, {"LAG", Align::right}, {"", Align::left}}};
  for (const auto& shard : shards) {
    const bool halted = !shard.at("halted_reason").is_null();
    table.add({{text_at(shard, "topic")},
               {text_at(shard, "partition")},
               {number_at(shard, "position")},
               {high_text(shard)},
               {number_at(shard, "lag"), tone_of_lag(whole_at(shard, "lag"))},
               {halted ? "HALTED" : "", Tone::bad}});
  }
  return table.text(look);
}

std::string halted_partitions(const Document& shards, const Look& look) {
  std::string out;
  for (const auto& shard : shards) {
    if (shard.at("halted_reason").is_null()) continue;
    const std::string place = one_line(text_at(shard, "topic")) + "/" + text_at(shard, "partition");
    out += in_tone("HALTED " + place, Tone::bad, look) + " since " + time_at(shard, "halted_at") + ": " +
           one_line(text_at(shard, "halted_reason")) + "\n";
    out += "       what to do: " + in_tone(one_line(text_at(shard, "what_to_do")), Tone::strong, look) + "\n";
  }
  return out;
}

std::string instances(const Document& list, const Look& look) {
  Table table{{{"DAEMON", Align::left, true}, {"PROCESS", Align::right}, {"VERSION"}, {"STARTED"}, {"LAST SEEN"}}};
  for (const auto& instance : list) {
    const bool gone = instance.at("is_gone").get<bool>();
    table.add({{text_at(instance, "host")},
               {text_at(instance, "process_id")},
               {text_at(instance, "version")},
               {time_at(instance, "started_at")},
               {age_at(instance, "unseen_seconds") + " ago" + (gone ? ", gone?" : ""),
                gone ? Tone::bad : Tone::plain}});
  }
  return table.empty()
             ? in_tone("no daemon is running, and none ended within the last day without saying so\n", Tone::bad, look)
             : table.text(look);
}

Tone tone_of_verdict(const Document& document) {
  if (!document.at("is_well").get<bool>()) return Tone::bad;
  return document.at("remarks").empty() ? Tone::good : Tone::warning;
}

}  // namespace

std::string present_handlers(const Document& document, const Look& look) {
  Table table{{{"HANDLER", Align::left, true}, {"DUE", Align::right}, {"LEASED", Align::right},
               {"RETRYING", Align::right}, {"WAITING", Align::right}, {"OLDEST", Align::right},
               {"DEAD", Align::right}, {"", Align::left, true}}};
  for (const auto& handler : document.at("handlers")) {
    std::string remark;
    if (!handler.at("retired_at").is_null()) remark = "retired";
    else if (!handler.at("paused_reason").is_null()) remark = "PAUSED: " + text_at(handler, "paused_reason");
    else if (whole_at(handler, "backfill") > 0) remark = "backfill: " + number_at(handler, "backfill") + " to go";
    table.add({{text_at(handler, "handler")},
               {count_at(handler, "due")},
               {count_at(handler, "leased")},
               {count_at(handler, "retrying"), whole_at(handler, "retrying") > 0 ? Tone::warning : Tone::plain},
               {count_at(handler, "waiting")},
               {age_at(handler, "oldest_due_age_seconds")},
               {count_at(handler, "dead"), whole_at(handler, "dead") > 0 ? Tone::bad : Tone::plain},
               {remark, handler.at("paused_reason").is_null() ? Tone::plain : Tone::bad}});
  }
  return table.empty() ? "no handlers yet\n" : table.text(look);
}

std::string present_retired(const Document& document, const Look& look) {
  if (document.at("refused").get<bool>()) return "";  // the message says all there is to say
  const bool dry_run = document.at("dry_run").get<bool>();
  std::string out = one_line(text_at(document, "handler"));
  if (document.at("was_retired").get<bool>())
    out += " is retired already";
  else
    out += dry_run ? " would be retired" : " is retired";
  out += "; " + number_at(document, dry_run ? "events" : "dropped") + " events that it was owed " +
         (dry_run ? "would be" : "are") + " dropped";
  const auto backfill = document.at("backfill").get<std::int64_t>();
  if (backfill > 0) out += ", and " + number_text(backfill) + " offsets of history";
  return in_tone(out, Tone::plain, look) + "\n";
}

std::string present_status(const Document& document, const Look& look) {
  const auto& shards = document.at("topics");
  std::string out = in_tone(one_line(text_at(document, "verdict")), tone_of_verdict(document), look) + "\n";
  out += halted_partitions(shards, look) + "\n";
  if (shards.empty()) out += "no partition is ingested yet\n";
  else out += shards.size() > most_partitions ? sums_by_topic(shards, look) : each_partition(shards, look);
  out += "\n" + present_handlers(document, look);
  out += "\n" + instances(document.at("instances"), look);
  return out;
}

std::string present_shards(const Document& document, const Look& look) {
  Table table{{{"TOPIC", Align::left, true}, {"PARTITION", Align::right}, {"POSITION", Align::right},
               {"HIGH", Align::right}, {"LAG", Align::right}, {"EPOCH", Align::right}, {"GAPS"}, {"", Align::left}}};
  const auto& shards = document.at("shards");
  for (const auto& shard : shards) {
    std::string gaps;
    for (const auto& gap : shard.at("accepted_gaps")) {
      gaps += (gaps.empty() ? "" : " ") + text_at(gap, "from") + "-" + text_at(gap, "to");
    }
    const bool halted = !shard.at("halted_reason").is_null();
    const bool former = !shard.at("is_newest").get<bool>();
    table.add({{text_at(shard, "topic")},
               {text_at(shard, "partition")},
               {number_at(shard, "position")},
               {number_at(shard, "high_watermark")},
               {number_at(shard, "lag")},
               {text_at(shard, "epoch")},
               {gaps},
               {halted ? "HALTED" : former ? "former" : "", halted ? Tone::bad : Tone::faint}});
  }
  if (table.empty()) return "";
  const std::string halts = halted_partitions(shards, look);
  return table.text(look) + (halts.empty() ? "" : "\n" + halts);
}

std::string present_accepted(const Document& document, const Look& look) {
  if (document.at("accepted").empty()) return "";
  const bool dry_run = document.value("dry_run", false);
  std::string out;
  for (const auto& one : document.at("accepted")) {
    const std::string place = one_line(text_at(one, "topic")) + "/" + text_at(one, "partition");
    if (one.contains("lost")) {
      out += place + ": offsets " + text_at(one, "from") + " to " + text_at(one, "to") + " (" +
             number_at(one, "lost") + ") " + (dry_run ? "would be" : "are") + " given up as lost; it goes on at " +
             text_at(one, "position") + "\n";
    } else {
      out += place + ": the new topic (" + one_line(text_at(one, "new_incarnation")) + ") " +
             (dry_run ? "would begin" : "begins") + " at 0; what was not ingested of the old one is lost\n";
    }
  }
  return in_tone(out, Tone::plain, look);
}

}  // namespace inboxd::cli
