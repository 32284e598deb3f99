#include "cli/shards.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>
#include <future>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cli/operator.hpp"
#include "config/shard_files.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;
using operations::Document;

/// Topics have fewer partitions than that.
constexpr std::int64_t max_partition_number = 1 << 16;

std::string quoted(const std::string& file) {
  const bool is_plain = std::ranges::all_of(file, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view{"/._-+:@%"}.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return file;
  std::string out = "'";
  for (const char c : file) out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return out + "'";
}

/// The first words of commands that run on one database.
const std::set<std::string, std::less<>>& command_words() {
  static const std::set<std::string, std::less<>> words = [] {
    std::set<std::string, std::less<>> out{"check", "verify", "migrate"};
    for (const auto& one : operations::operations()) out.insert(one.verb.substr(0, one.verb.find(' ')));
    return out;
  }();
  return words;
}

/// A text whose commands run on the database of that configuration.
std::string own_commands(std::string text, const std::string& file) {
  const std::string program = "inboxd ";
  const std::string option = "--config " + quoted(file) + " ";
  for (auto at = text.find(program); at != std::string::npos; at = text.find(program, at)) {
    at += program.size();
    const std::string_view rest = std::string_view{text}.substr(at);
    const std::string_view word = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    if (command_words().contains(word)) text.insert(at, option);
  }
  return text;
}

Document with_shard(Document row, const ShardAnswer& from) {
  const bool is_finding = row.contains("remedy");  // other messages are what a handler said
  for (const char* const key : {"remedy", "what_to_do", "message"}) {
    const auto found = is_finding || key != std::string_view{"message"} ? row.find(key) : row.end();
    if (found != row.end() && found->is_string()) *found = own_commands(found->get<std::string>(), from.file);
  }
  Document out{{"shard", from.index}};
  out.update(row);
  return out;
}

/// Each row and sentence says which database it is from.
void mark_rows(Document& document, const ShardAnswer& from) {
  for (auto& member : document) {
    if (member.is_object()) mark_rows(member, from);
    if (!member.is_array()) continue;
    for (auto& row : member) {
      if (row.is_string()) {
        row = "shard " + std::to_string(from.index) + ": " + own_commands(row.get<std::string>(), from.file);
      }
      if (row.is_object()) row = with_shard(std::move(row), from);
    }
  }
}

/// Ages, times, shares and settings of several databases have a worst, and no sum.
bool has_no_sum(std::string_view key) {
  if (key == "shared_buffers" || key == "checkpoint_bytes") return true;
  return key.ends_with("seconds") || key.ends_with("_share") || key.ends_with("_per_second") || key.ends_with("_left");
}

/// How far a search went, which is as far as the databases went together.
bool is_search_end(std::string_view key) { return key == "back_to" || key == "next_until"; }

/// The time by which a list of such rows is newest first; empty: another order.
std::string time_in(const Document& row) {
  for (const char* const key : {"died_at", "received_at", "occurred_at"}) {
    const auto found = row.is_object() ? row.find(key) : row.end();
    if (found != row.end() && found->is_string()) return found->get<std::string>();
  }
  return "";
}

void merge(Document& into, const Document& more) {
  if (into.is_null()) {
    into = more;
  } else if (into.is_array() && more.is_array()) {
    into.insert(into.end(), more.begin(), more.end());
    std::stable_sort(into.begin(), into.end(),
                     [](const Document& one, const Document& other) { return time_in(one) > time_in(other); });
  } else if (into.is_number() && more.is_number()) {
    into = into.is_number_float() ? Document(into.get<double>() + more.get<double>())
                                  : Document(into.get<std::int64_t>() + more.get<std::int64_t>());
  } else if (into.is_boolean() && more.is_boolean()) {
    into = into.get<bool>() || more.get<bool>();
  } else if (into.is_object() && more.is_object()) {
    const bool is_worse = into.value("is_well", false) && !more.value("is_well", true);
    const bool is_well = into.value("is_well", false) && more.value("is_well", false);
    for (const auto& [key, value] : more.items()) {
      if (!into.contains(key)) into[key] = value;
      else if (key == "next") into[key] = nullptr;  // a page has a mark in a single database only
      else if (key == "verdict" && is_worse) into[key] = value;
      else if (key == "complete") into[key] = into[key] == true && value == true;
      else if (has_no_sum(key) && into[key].is_number() && value.is_number()) into[key] = std::max(into[key], value);
      else if (is_search_end(key) && into[key].is_string() && value.is_string()) into[key] = std::max(into[key], value);
      else merge(into[key], value);
    }
    if (into.contains("is_well")) into["is_well"] = is_well;
  }
}

/// The time down to which each database has given its rows; empty: each has given all. Older rows of one database would
/// look as if the others had none.
std::string shown_down_to(const std::vector<ShardAnswer>& answers) {
  std::string out;
  for (const ShardAnswer& one : answers) {
    const Document& document = one.answer.document;
    if (!document.is_object() || document.value("next", Document{}).is_null()) continue;
    for (const Document& member : document) {
      if (member.is_array() && !member.empty()) out = std::max(out, time_in(member.back()));
    }
  }
  return out;
}

void leave_out_older(Answer& answer, const std::string& time) {
  for (Document& member : answer.document) {
    if (!member.is_array()) continue;
    std::erase_if(member.get_ref<Document::array_t&>(), [&](const Document& row) {
      const std::string its_time = time_in(row);
      return !its_time.empty() && its_time < time;
    });
  }
  answer.document["next"] = nullptr;
  answer.message = "rows before " + time;
}

/// Ids of events are of one database. Numbers of dead letters and of quarantined records are not.
Answer only_one(std::vector<ShardAnswer>& answers) {
  std::vector<ShardAnswer*> having;
  for (ShardAnswer& one : answers) {
    if (one.answer.code == ExitCode::done) having.push_back(&one);
  }
  if (having.empty()) return std::move(answers.front().answer);
  if (having.size() > 1) {
    std::vector<std::string> files;
    for (const ShardAnswer* const one : having) files.push_back(one->file);
    return {ExitCode::usage, nullptr, "several databases have it: in place of --shards, pass --config with " +
                                          base::joined(files)};
  }
  ShardAnswer& chosen = *having.front();
  if (chosen.answer.document.is_object()) {
    chosen.answer.document = with_shard(std::move(chosen.answer.document), chosen);
  }
  return std::move(chosen.answer);
}

bool is_about_one(const operations::Operation& operation) {
  return std::ranges::any_of(operation.parameters, [](const operations::Parameter& parameter) {
    return parameter.place == operations::Parameter::Place::word;
  });
}

/// How to see the rest of a list.
std::string ways_to_rest(const operations::Operation& operation) {
  const bool has_until = std::ranges::find(operation.parameters, "until", &operations::Parameter::name) !=
                         operation.parameters.end();
  return has_until ? ": pass --until, or --config for one database" : ": pass --config for one database";
}

}  // namespace

void name_away(Document& document, const std::vector<std::string>& away) {
  if (away.empty()) return;
  if (document.is_null()) document = Document::object();
  if (!document.contains("findings")) {
    document["away"] = away;
    return;
  }
  Document findings = Document::array();
  for (const std::string& message : away) {
    document["problems"].push_back(message);
    findings.push_back({{"severity", "problem"},
                        {"kind", "database_away"},
                        {"message", message},
                        {"remedy", nullptr},
                        {"since", nullptr}});
  }
  findings.insert(findings.end(), document["findings"].begin(), document["findings"].end());
  document["findings"] = std::move(findings);
  document["verdict"] =
      away.front() + (document.value("is_well", false) ? "" : "; " + document.value("verdict", std::string{}));
  document["is_well"] = false;
}

Answer merged(std::vector<ShardAnswer> answers, bool is_about_one) {
  if (is_about_one) return only_one(answers);
  Answer out;
  const std::string shown = shown_down_to(answers);
  // A list is found if any database has rows of it; a status is well if each is.
  const bool is_found = std::ranges::any_of(answers, [](const ShardAnswer& one) {
    return one.answer.code == ExitCode::done && one.answer.document.is_object() && one.answer.document.contains("next");
  });
  for (ShardAnswer& one : answers) {
    if (!is_found) out.code = std::max(out.code, one.answer.code);
    if (!one.answer.document.is_object()) continue;
    mark_rows(one.answer.document, one);
    if (out.document.is_null())
      out.document = std::move(one.answer.document);
    else
      merge(out.document, one.answer.document);
  }
  if (!shown.empty()) leave_out_older(out, shown);
  return out;
}

namespace {

/// A partition that no database has, or two have. The owners repeat after a common multiple of all `of`.
std::string problem_of_partitions(std::span<const Shard> shards) {
  std::int64_t repeats = 1;
  for (const Shard& one : shards) {
    repeats = std::min<std::int64_t>(std::lcm(repeats, std::int64_t{one.settings.shard.of}), max_partition_number);
  }
  for (std::int32_t partition = 0; partition < repeats; ++partition) {
    const Shard* owner = nullptr;
    for (const Shard& one : shards) {
      if (!one.settings.shard.owns(partition)) continue;
      if (owner != nullptr) {
        return owner->file + " and " + one.file + " both have partition " + std::to_string(partition) +
               ": list each database once";
      }
      owner = &one;
    }
    if (owner == nullptr) {
      return "no configuration has partition " + std::to_string(partition) + ": list all databases";
    }
  }
  return "";
}

}  // namespace

std::string problem_of_list(std::span<const Shard> shards) {
  const Shard& first = shards.front();
  for (const Shard& one : shards) {
    if (one.settings.kafka.group == first.settings.kafka.group) continue;
    return one.file + " has kafka.group " + one.settings.kafka.group + ", and " + first.file + " has " +
           first.settings.kafka.group + ": list only databases that share topics";
  }
  return problem_of_partitions(shards);
}

std::optional<std::vector<Shard>> load_shards(const Session& session, const config::NeedsSecret& needs_secret) {
  const auto files = config::shard_files(session.shards_file);
  if (!files) {
    session.say(files.problem().message);
    return std::nullopt;
  }
  std::vector<Shard> out;
  for (const std::string& file : files.value()) {
    Session own = session;
    own.config_file = file;
    auto loaded = own.load_with(needs_secret);
    if (!loaded) return std::nullopt;
    out.push_back({file, std::move(loaded->settings)});
  }
  if (const std::string problem = problem_of_list(out); !problem.empty()) {
    session.say(session.shards_file + ": " + problem);
    return std::nullopt;
  }
  return out;
}

ShardAnswers ask_shards(const Session& session, std::span<const Shard> shards, const operations::Operation& operation,
                        const operations::Arguments& arguments) {
  Session quiet = session;
  quiet.output.messages_are_seen = false;  // threads cannot share a line of progress
  std::vector<std::future<Answer>> asked;
  for (const Shard& shard : shards) {
    asked.push_back(std::async(std::launch::async, [&quiet, &operation, &arguments, &shard] {
      return Operator{quiet, operation, shard.settings, nullptr}.ask(arguments);
    }));
  }
  ShardAnswers out;
  std::vector<ShardAnswer> answers;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    ShardAnswer one{shards[i].settings.shard.index, asked[i].get(), shards[i].file};
    const std::string message =
        "shard " + std::to_string(one.index) + " (" + one.file + "): " + own_commands(one.answer.message, one.file);
    if (one.answer.code != ExitCode::done && one.answer.code != ExitCode::no) {
      out.away.push_back(message);
      out.worst = std::max(out.worst, one.answer.code);
      continue;
    }
    if (!one.answer.message.empty() && !is_about_one(operation)) out.remarks.push_back(message);
    answers.push_back(std::move(one));
  }
  out.answered = answers.size();
  if (shards.size() == 1 && !answers.empty() && answers.front().answer.document.is_object()) {
    mark_rows(answers.front().answer.document, answers.front());  // with the mark of its next page
    out.all = std::move(answers.front().answer);
    if (!is_about_one(operation)) out.all.message.clear();  // it is a remark
  } else if (!answers.empty()) {
    out.all = merged(std::move(answers), is_about_one(operation));
    if (!is_about_one(operation)) out.not_shown = std::exchange(out.all.message, {});
  }
  out.worst = std::max(out.worst, out.all.code);
  return out;
}

ExitCode read_shards(const Session& session, const operations::Operation& operation,
                     const operations::Arguments& arguments, Presenter presenter,
                     const config::NeedsSecret& needs_secret) {
  const auto shards = load_shards(session, needs_secret);
  if (!shards) return ExitCode::configuration;
  ShardAnswers found = ask_shards(session, *shards, operation, arguments);
  for (const auto* messages : {&found.away, &found.remarks}) {
    for (const std::string& message : *messages) session.say(message);
  }
  if (!found.all.document.is_null() || session.json) name_away(found.all.document, found.away);
  if (!found.all.document.is_null()) {
    if (session.json) {
      session.print(found.all.document);
    } else {
      const auto shard = found.all.document.find("shard");
      if (shard != found.all.document.end()) session.output.out << "shard " << *shard << '\n';
      session.output.out << presenter(found.all.document, session.output.look) << std::flush;
    }
  }
  if (!found.all.message.empty()) session.say(found.all.message);
  if (!found.not_shown.empty()) session.say("not shown: " + found.not_shown + ways_to_rest(operation));
  return found.worst;
}

std::string why_not_all(const std::string& verb, const std::vector<std::string>& files) {
  return verb + " does not read several databases: leave out --shards, or replace it by --config with " +
         base::joined(files);
}

ExitCode refuse_shards(const Session& session, const std::string& verb) {
  const auto files = config::shard_files(session.shards_file);
  session.say(files ? why_not_all(verb, files.value()) : files.problem().message);
  return files ? ExitCode::usage : ExitCode::configuration;
}

}  // namespace inboxd::cli
