#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "daemon/metrics.hpp"

namespace inboxd::daemon {
namespace {

using admin::Exposition;
using consumer::PartitionLife;
using consumer::PartitionStatus;
using Kind = admin::Metric::Kind;

MetricRow row(Kind kind, std::string name, std::string help, std::vector<std::string> labels,
              void (*collect)(const Figures&, Exposition&)) {
  return {{"inboxd_" + std::move(name), kind, std::move(help), std::move(labels)}, collect};
}

template <class Value>
void each_partition(const Figures& figures, Exposition& out, Value value) {
  for (const PartitionStatus::Entry& entry : figures.partitions) {
    const std::string number = std::to_string(entry.partition.partition);
    if (const auto found = value(entry)) out.add({entry.partition.topic, number}, *found);
  }
}

/// Partitions that this instance does not read.
template <class Value>
void each_other_partition(const Figures& figures, Exposition& out, Value value) {
  std::set<std::pair<std::string, std::int32_t>> own;
  for (const PartitionStatus::Entry& entry : figures.partitions) {
    own.emplace(entry.partition.topic, entry.partition.partition);
  }
  for (const operations::PartitionReading& reading : figures.observed.readings) {
    if (own.contains({reading.topic, reading.partition})) continue;
    if (const auto found = value(reading)) out.add({reading.topic, std::to_string(reading.partition)}, *found);
  }
}

std::optional<std::int64_t> known(std::int64_t offset) { return offset < 0 ? std::nullopt : std::optional{offset}; }

std::optional<std::int64_t> lag_of(const PartitionStatus::Entry& entry) {
  return entry.lag(PartitionStatus::Clock::now());
}

}  // namespace

void add_kafka_metrics(std::vector<MetricRow>& rows) {
  rows.push_back(row(Kind::gauge, "last_poll_timestamp_seconds", "Last heartbeat of the poll thread.", {},
                       [](const Figures& figures, Exposition& out) {
                         if (figures.last_poll > 0) out.add(figures.last_poll);
                       }));
  rows.push_back(row(Kind::counter, "kafka_errors_total",
                         "Errors of the Kafka client by librdkafka's name; unanswered: queries for topics and "
                         "offsets that timed out.",
                         {"error"}, [](const Figures& figures, Exposition& out) {
                           for (const auto& [error, count] : figures.kafka_errors) out.add({error}, count);
                         }));
  rows.push_back(row(Kind::counter, "kafka_clients_remade_total",
                         "Replacements of a Kafka client that did not join its group although the brokers answered.",
                         {}, [](const Figures& figures, Exposition& out) { out.add(figures.remade_clients); }));
  rows.push_back(row(Kind::gauge, "topics_unknown", "Configured topics that the brokers do not list.", {},
                       [](const Figures& figures, Exposition& out) { out.add(figures.unknown_topics); }));
  rows.push_back(row(Kind::gauge, "partitions", "Assigned partitions by state.", {"state"},
                       [](const Figures& figures, Exposition& out) {
                         for (const std::string_view state : {"looking_up", "reading", "halted"}) {
                           out.add({std::string{state}}, std::int64_t{std::count_if(
                                                figures.partitions.begin(), figures.partitions.end(),
                                                [&](const auto& entry) { return state == name_of(entry.state); })});
                         }
                       }));
  rows.push_back(row(Kind::counter, "partition_received_total", "Records received and stored, duplicates included.",
                         {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                           each_partition(figures, out,
                                          [](const auto& entry) { return std::optional{entry.received}; });
                         }));
  rows.push_back(row(Kind::gauge, "partition_position", "The next offset that is not in the inbox.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) { return known(entry.position); });
                       }));
  rows.push_back(row(Kind::gauge, "partition_high_watermark",
                       "The high watermark, open transactions included, as last reported by the brokers.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) { return known(entry.high_watermark); });
                       }));
  rows.push_back(row(Kind::gauge, "partition_lag",
                       "Records not in the inbox yet, records after an open transaction included; absent while "
                       "unknown. Also of partitions that other instances or none read: use `max by`.",
                       {"topic", "partition"},
                       [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, lag_of);
                         each_other_partition(figures, out, [](const auto& reading) { return reading.lag(); });
                       }));
  rows.push_back(row(Kind::gauge, "partition_unmoved_seconds",
                       "For how long the position has not moved although records wait; 0: none wait, or the partition "
                       "is halted or held by an open transaction. Of all instances.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         for (const auto& reading : figures.observed.readings) {
                           const auto age = std::chrono::duration_cast<std::chrono::seconds>(reading.unmoved_for);
                           out.add({reading.topic, std::to_string(reading.partition)},
                                   reading.is_stuck() ? std::int64_t{age.count()} : std::int64_t{0});
                         }
                       }));
  rows.push_back(row(Kind::gauge, "partition_halted", "1 for a halted partition; run inboxd partitions list --halted.",
                       {"topic", "partition"}, [](const Figures& figures, Exposition& out) {
                         each_partition(figures, out, [](const auto& entry) {
                           return std::optional<std::int64_t>{PartitionLife::is_halted(entry.state)};
                         });
                       }));
}

}  // namespace inboxd::daemon
