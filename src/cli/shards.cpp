#include "cli/shards.hpp"

#include <algorithm>
#include <cstdint>
#include <future>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "cli/operator.hpp"
#include "config/shard_files.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Answer;

/// Topics have fewer partitions than that.
constexpr std::int64_t max_partition_number = 1 << 16;

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
      return Operator{quiet, operation, shard.settings, nullptr}.ask_shard(arguments);
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
