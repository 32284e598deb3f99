#include "verify/log_check.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "config/topics.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/handler_routing.hpp"
#include "inbox/row_reader.hpp"
#include "inbox/shard_position.hpp"
#include "kafka/client_log.hpp"
#include "kafka/properties.hpp"
#include "operations/broker_problem.hpp"
#include "statements.hpp"
#include "verify/chunk_check.hpp"
#include "verify/log_part.hpp"

namespace inboxd::verify {
namespace {

namespace statements = inbox::statements;

constexpr std::chrono::seconds patience{15};
constexpr std::chrono::seconds read_timeout{30};
/// Before a contradiction counts, its chunk is checked again: a daemon may have moved rows between two statements, or
/// dropped a day.
constexpr std::chrono::milliseconds second_look{200};
constexpr std::chrono::seconds state_interval{1};
/// A chunk ends at a block of offsets or at this size. Its events' contents come from the database, too.
constexpr std::size_t chunk_bytes = 32U << 20U;

using Clock = std::chrono::steady_clock;

class LogCheck final {
 public:
  LogCheck(const Surroundings& around, const Request& request, StateFile state, Report& out)
      : around_{around},
        request_{request},
        state_{std::move(state)},
        out_{out},
        topics_{config::kafka_topics(around.settings.topics), around.settings.shard},
        moment_{read_moment(around.connection)} {}

  void run() {
    auto parts = log_parts(around_.connection, partitions_of(around_, request_));
    std::set<std::string> unknown, local;
    std::erase_if(parts, [&](const LogPart& one) {
      if (one.state.source == "local") return local.insert(one.state.topic), true;
      if (topics_.find(one.state.topic) != nullptr) return false;
      unknown.insert(one.state.topic);
      return true;
    });
    for (const auto& topic : unknown) {
      out_.remarks.push_back("topic " + topic + " was not read: it is not configured, so no rule decodes its records");
    }
    for (const auto& topic : local) {
      out_.remarks.push_back("topic " + topic + " has no log: it is local, so its events are in the database alone");
    }
    if (!connect()) return;
    if (!moment_.may_read_payloads) {
      out_.remarks.push_back("contents were not compared: this role may not read payloads");
    }
    describe(parts);
    for (const auto& part : parts) {
      if (out_.interrupted) break;
      auto result = verify(part);
      if (part.cut && result.from >= result.position) continue;  // Kafka has deleted its offsets, or none is left
      note_other_ids(result);
      out_.partitions.push_back(std::move(result));
    }
    find_unread(parts);
    if (out_.partitions.empty()) {
      out_.problems.push_back("no log was read: no partition of a configured topic has a position; start a daemon");
    }
    if (restarted_ > 0) {
      out_.remarks.push_back("--state: " + std::to_string(restarted_) +
                             " partitions were verified from their beginning, because the database server was started "
                             "again or replaced, or topic, position or sample changed");
    }
    save(true);
  }

 private:
  using PartitionState = operations::PartitionState;

  /// False: the brokers do not answer.
  bool connect() {
    const auto& kafka = around_.settings.kafka;
    kafka::ClientSettings wanted;
    wanted.brokers = kafka.brokers;
    wanted.properties = kafka.properties_now();
    // A reader's end waits for its last fetch.
    wanted.properties.try_emplace("fetch.wait.max.ms", "20");
    wanted.properties.try_emplace("queued.max.messages.kbytes", "16384");
    auto conf = kafka::make_conf(wanted);
    if (!conf) return fail(conf.problem());
    client_log_.attach(conf.value().get());
    auto made = kafka::make_consumer(std::move(conf).value());
    if (!made) return fail(made.problem());
    client_ = std::move(made).value();
    const auto listed = kafka::list_topics(client_.get(), patience);
    if (listed) {
      for (const auto& name : listed.value()) {
        if (is_wanted(name)) visible_.insert(name);
      }
      return true;
    }
    if (!kafka::is_unanswered(listed.problem())) return fail(listed.problem());
    const auto problem = operations::broker_problem(kafka.brokers, wanted.properties, client_log_.last_warning());
    const bool is_refused = problem.kind == operations::Finding::Kind::refused;
    return fail({problem.subject + ": " + problem.message, is_refused ? "refused" : ""});
  }

  /// Whether the topic is configured and asked for.
  bool is_wanted(const std::string& topic) const {
    return topics_.find(topic) != nullptr && (request_.topics.empty() || inbox::matches(topic, request_.topics));
  }

  bool fail(base::Problem problem) {
    out_.failure = std::move(problem);
    return false;
  }

  void describe(const std::vector<LogPart>& parts) {
    std::set<std::string> names = visible_;
    for (const auto& one : parts) names.insert(one.state.topic);
    const auto described = kafka::describe_topics(client_.get(), {names.begin(), names.end()}, patience);
    if (!described) return;
    for (const auto& topic : described.value()) described_[topic.name] = topic;
  }

  /// Configured topics and partitions of them that no daemon has read: nothing of their records is stored.
  void find_unread(const std::vector<LogPart>& parts) {
    for (const auto& name : topics_.names()) {
      if (!is_wanted(name) || described_.contains(name)) continue;
      out_.problems.push_back("topic " + name +
                              ": configured, but the brokers do not describe it; check its name, and the right to "
                              "describe it");
    }
    std::set<kafka::TopicPartition> read;
    for (const auto& one : parts) read.insert({one.state.topic, one.state.partition});
    for (const auto& name : visible_) {
      const auto described = described_.find(name);
      const int count = described == described_.end() ? 0 : described->second.partitions;
      for (std::int32_t partition = 0; partition < count && !out_.interrupted; ++partition) {
        if (topics_.shard().owns(partition) && !read.contains({name, partition})) check_unread({name, partition});
      }
    }
  }

  void check_unread(const kafka::TopicPartition& place) {
    const auto log = kafka::log_bounds(client_.get(), place, patience);
    const bool is_empty = log && log.value().high == log.value().low;
    if (is_empty && (log.value().high == 0 || starts_at_end(place.topic))) return;
    PartitionResult result;
    result.topic = place.topic;
    result.partition = place.partition;
    const std::string remedy = "; start a daemon, or see `inboxd partitions list`";
    if (!log) {
      result.problem = log.problem().message;
    } else if (is_empty) {
      result.problem = "never read, and Kafka has deleted its records up to offset " +
                       std::to_string(log.value().high - 1) + remedy;
    } else {
      result.problem = "never read, but it has records at offsets " + std::to_string(log.value().low) + " to " +
                       std::to_string(log.value().high - 1) + remedy;
    }
    if (log) result.lag = log.value().high - log.value().low;
    out_.partitions.push_back(std::move(result));
  }

  /// Whether a daemon that started now would read none of the topic's older records.
  bool starts_at_end(const std::string& topic) {
    const config::Topic& entry = *topics_.find(topic);
    return entry.start.kind == config::StartAt::Kind::end &&
           !inbox::started_at(around_.connection, entry.name.empty() ? entry.pattern : entry.name);
  }

  void note_other_ids(const PartitionResult& result) {
    if (result.other_id == 0) return;
    out_.remarks.push_back("the rules of topic " + result.topic + " have changed: in partition " +
                           std::to_string(result.partition) + " they give " + std::to_string(result.other_id) +
                           " records another id than their events have, the last at offset " +
                           std::to_string(*result.last_other_id) +
                           "; resends of them count as not checkable, and --fetch does not read them again");
  }

  PartitionResult verify(const LogPart& part) {
    const PartitionState& state = part.state;
    PartitionResult result;
    result.topic = state.topic;
    result.partition = state.partition;
    result.position = std::min(*state.position, part.cut.value_or(*state.position));
    const auto* const topic = topics_.find(state.topic);
    result.shard_id = state.shard_id;
    result.epoch = state.epoch.value_or(0);
    const auto described = described_.find(state.topic);
    if (described == described_.end()) {
      result.problem = "the brokers do not describe the topic; check its name, and the right to describe it";
    } else if (described->second.incarnation != state.incarnation) {
      result.problem = "the topic was deleted and created again; `inboxd partitions list` has the remedy";
    }
    if (!result.problem.empty()) return result;
    const kafka::TopicPartition place{state.topic, state.partition};
    const auto log = kafka::log_bounds(client_.get(), place, patience);
    if (!log) {
      result.problem = log.problem().message;
      return result;
    }
    auto partition = partition_of(state, *topic);
    result.from = read_bounds(partition).value_or(result.position);
    const std::int64_t end = std::min(result.position, log.value().high);
    if (!part.cut) result.lag = std::max<std::int64_t>(log.value().high - result.position, 0);
    result.not_in_kafka = std::max<std::int64_t>(std::min(log.value().low, end) - result.from, 0);
    result.from = std::max(result.from, log.value().low);
    if (!part.cut) {  // the state has an offset for each partition
      const std::string known_as = log_of(partition);
      if (state_.is_of_other(place, known_as)) ++restarted_;
      result.from = std::max(result.from, state_.verified_to(place, known_as));
    }
    result.verified_to = result.from;
    read_back(partition, place, end, result);
    if (part.cut || !result.problem.empty()) return result;
    const auto now = inbox::find_position(around_.connection, state.topic, state.partition);
    if (now) result.problem = problem_with(state, log.value(), *now);
    return result;
  }

  VerifiedPartition partition_of(const PartitionState& state, const config::Topic& topic) {
    VerifiedPartition out;
    out.state = state;
    const auto& settings = around_.settings;
    out.rules = {topic, settings.kafka.name_space, log_of_shard(around_.connection, state.shard_id).id,
                 decoders_.of(topic)};
    out.gaps = state.gaps;
    if (state.gap) out.gaps.add(*state.gap);
    out.reads_content = moment_.may_read_payloads;
    return out;
  }

  /// The deletions by retention and operators so far. Returns where the partition begins; nullopt: nothing is stored.
  std::optional<std::int64_t> read_bounds(VerifiedPartition& out) {
    const auto moment = read_moment(around_.connection);
    const PartitionState& state = out.state;
    const auto& quarantine = around_.settings.retention.quarantine;
    out.kept.now = moment.now;
    out.kept.start = moment.started_at.value_or(0);
    const auto log = log_of_shard(around_.connection, state.shard_id);
    out.kept.events = std::max(moment.events_since, log.trimmed_before);
    out.kept.ids = moment.ledger_since;
    out.kept.quarantine = quarantine ? moment.now - std::chrono::microseconds{*quarantine}.count() : 0;
    if (out.reads_content) {
      const auto discarded = inbox::run_read(around_.connection, statements::verify_discarded,
                                             pqxx::params{kafka::text_of({state.topic, state.partition})});
      out.discarded = event::OffsetSet::parse(inbox::RowReader{discarded[0]}.text()).value_or(event::OffsetSet{});
    }
    return log.begin;
  }

  /// The log and the database of the verified offsets. Another server process, or tables that were made again, may
  /// have lost commits. A sample has left out offsets, so that no run with another share may continue after it.
  std::string log_of(const VerifiedPartition& partition) const {
    const std::string log = partition.rules.incarnation + " epoch " +
                            std::to_string(partition.state.epoch.value_or(0)) + " server " + moment_.server;
    return request_.sample < 1 ? log + " sample " + std::to_string(request_.sample) : log;
  }

  void read_back(VerifiedPartition& partition, const kafka::TopicPartition& place, std::int64_t end,
                 PartitionResult& result) {
    std::unique_ptr<kafka::LogReader> reader;
    for (std::int64_t at = result.from; at < end;) {
      if (around_.pause(std::chrono::milliseconds{0})) {
        out_.interrupted = true;
        return;
      }
      std::int64_t next = std::min((at / sample_block + 1) * sample_block, end);
      const bool is_edge = at / sample_block == result.from / sample_block || next == end;
      if (!is_edge && !is_in_sample(place.topic, place.partition, at / sample_block, request_.sample)) {
        reader.reset();
      } else {
        const auto begin = Clock::now();
        if (!reader) reader = std::make_unique<kafka::LogReader>(client_.get(), place, at);
        const auto chunk = reader->read(next, chunk_bytes, read_timeout);
        if (!chunk) {
          result.problem = chunk.problem().message;
          return;
        }
        next = chunk.value().next;
        check(partition, chunk.value(), at, result);
        keep_rate(chunk.value().messages.size(), begin);
      }
      at = next;
      advance(partition, place, next, result);
      around_.progress({"offsets of " + kafka::text_of(place), next - result.from, end - result.from});
    }
  }

  void check(VerifiedPartition& partition, const kafka::LogReader::Chunk& chunk, std::int64_t from,
             PartitionResult& result) {
    const PartitionResult before = result;
    auto found = check_chunk(around_.connection, partition, chunk, from, result);
    if (!found.empty() && !around_.pause(second_look)) {
      result = before;
      static_cast<void>(read_bounds(partition));
      found = check_chunk(around_.connection, partition, chunk, from, result);
    }
    out_.found += static_cast<std::int64_t>(found.size());
    for (auto& one : found) {
      if (shown_[one.rule]++ < request_.limit) out_.contradictions.push_back(std::move(one));
    }
  }

  /// The next run begins again at the first contradiction, until it is mended.
  void advance(const VerifiedPartition& partition, const kafka::TopicPartition& place, std::int64_t next,
               PartitionResult& result) {
    if (result.contradictions > 0) return;
    result.verified_to = next;
    if (!partition.state.is_newest) return;
    state_.set(place, log_of(partition), next);
    save(false);
  }

  void save(bool at_once) {
    if (!at_once && Clock::now() < next_save_) return;
    next_save_ = Clock::now() + state_interval;
    if (const auto written = state_.write(); !written) out_.failure = written.problem();
  }

  void keep_rate(std::size_t records, Clock::time_point begin) {
    if (request_.rate <= 0) return;
    const auto wanted = std::chrono::milliseconds{1000 * static_cast<std::int64_t>(records) / request_.rate};
    const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    if (wanted > taken && around_.pause(wanted - taken)) out_.interrupted = true;
  }

  const Surroundings& around_;
  const Request& request_;
  StateFile state_;
  Report& out_;
  const config::Topics topics_;
  formats::Decoders decoders_{std::chrono::seconds{10}};
  const Moment moment_;
  kafka::ClientLog client_log_;
  kafka::Client client_;
  std::set<std::string> visible_;                          ///< the brokers' topics that are wanted
  std::map<std::string, kafka::TopicDescription> described_;  ///< by name; likewise, and those with a position
  std::int64_t restarted_ = 0;                             ///< partitions with verified offsets of no use
  std::map<std::string, std::int64_t> shown_;
  Clock::time_point next_save_{};
};

}  // namespace

void verify_logs(const Surroundings& around, const Request& request, StateFile state, Report& out) {
  LogCheck{around, request, std::move(state), out}.run();
}

}  // namespace inboxd::verify
