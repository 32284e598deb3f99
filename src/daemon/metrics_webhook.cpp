#include "daemon/metrics.hpp"

namespace inboxd::daemon {
namespace {

using admin::Exposition;
using Kind = admin::Metric::Kind;

void requests(const Figures& figures, Exposition& out) {
  if (figures.webhooks == nullptr) return;
  for (const auto& [labels, number] : figures.webhooks->counts().requests()) {
    out.add({labels.first, labels.second}, number);
  }
}

}  // namespace

void add_webhook_metrics(std::vector<MetricRow>& rows) {
  rows.push_back({{"inboxd_ingest_http_requests_total", Kind::counter,
                   "Requests to ingest.listen by topic (empty: none that takes events) and outcome, as the sender saw "
                   "it: accepted, repeated (no new event), conflict, invalid, unauthorised, forbidden, unknown_topic, "
                   "too_large, unsupported, busy, unavailable, or unanswered (the sender left before its answer; the "
                   "event may be stored).",
                   {"topic", "outcome"}},
                  requests});
  rows.push_back({{"inboxd_ingest_http_malformed_total", Kind::counter,
                   "Requests to ingest.listen that could not be read, or did not arrive in time, all in "
                   "inboxd_ingest_http_requests_total, too.", {}},
                  [](const Figures& figures, Exposition& out) {
                    if (figures.webhooks != nullptr) out.add(figures.webhooks->connections().malformed.load());
                  }});
  rows.push_back({{"inboxd_ingest_http_waiting_requests", Kind::gauge, "Requests that wait for the database.", {}},
                  [](const Figures& figures, Exposition& out) {
                    if (figures.webhooks != nullptr) out.add(figures.webhooks->waiting());
                  }});
  rows.push_back({{"inboxd_ingest_http_connections", Kind::gauge, "Open connections to ingest.listen.", {}},
                  [](const Figures& figures, Exposition& out) {
                    if (figures.webhooks != nullptr) out.add(figures.webhooks->connections().open.load());
                  }});
}

}  // namespace inboxd::daemon
