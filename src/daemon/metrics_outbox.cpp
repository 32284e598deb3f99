#include "daemon/metrics.hpp"

namespace inboxd::daemon {
namespace {

using admin::Exposition;
using Kind = admin::Metric::Kind;

MetricRow row(std::string name, Kind kind, std::string help, void (*collect)(const Figures&, Exposition&)) {
  return {{"inboxd_outbox_" + std::move(name), kind, std::move(help), {}}, collect};
}

template <auto member>
void count(const Figures& figures, Exposition& out) {
  if (figures.relay != nullptr) out.add((figures.relay->*member).load());
}

void flag(const Figures& figures, Exposition& out) {
  if (figures.relay != nullptr) out.add(std::int64_t{figures.relay->is_owner});
}

}  // namespace

void add_outbox_metrics(std::vector<MetricRow>& rows) {
  using relay::Counts;
  rows.push_back(row("backlog_messages", Kind::gauge, "Messages to send. Counting stops at 100000.",
                     [](const Figures& figures, Exposition& out) { out.add(figures.observed.outbox.backlog.number); }));
  rows.push_back(row("oldest_age_seconds", Kind::gauge, "Age of the oldest message to send; 0: none.",
                     [](const Figures& figures, Exposition& out) {
                       const auto age = figures.observed.outbox.oldest_age;
                       out.add(age ? static_cast<double>(age->count()) / 1e6 : 0.0);
                     }));
  rows.push_back(row("waiting_messages", Kind::gauge,
                     "Messages that the brokers refuse, and messages that wait for them. Counting stops at 100000.",
                     [](const Figures& figures, Exposition& out) { out.add(figures.observed.outbox.waiting.number); }));
  rows.push_back(row("relay_owner", Kind::gauge, "1 while this instance sends the outbox.", flag));
  rows.push_back(row("in_flight_messages", Kind::gauge, "Messages sent and not acknowledged.",
                     count<&Counts::in_flight>));
  rows.push_back(row("published_total", Kind::counter, "Messages that all in-sync replicas have.",
                     count<&Counts::published>));
  rows.push_back(row("stopped_total", Kind::counter, "Messages that the brokers refused.", count<&Counts::stopped>));
  rows.push_back(row("producer_replacements_total", Kind::counter,
                     "Producers that were replaced: after an error, or after refused messages.",
                     count<&Counts::replacements>));
}

}  // namespace inboxd::daemon
