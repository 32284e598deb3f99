#include "operations/ledger_queries.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "config/units.hpp"
#include "inbox/id_filter.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using namespace std::chrono_literals;

/// Below that, nothing about the ledger is worth an operator's time.
constexpr std::int64_t worth_bytes = 256 << 20;
constexpr std::int64_t enough_resends = 100;
/// A younger ledger has not seen the resends that come after days.
constexpr std::chrono::hours enough_time{7 * 24};
constexpr std::int64_t worth_a_change = 2;  ///< so many times smaller
constexpr double much_random = 0.5, much_full_pages = 0.5;
constexpr std::int64_t near_checkpoints = std::int64_t{4} << 30;
/// Retentions that are proposed: the first that is four times as long as 99.9 % of the resends took.
constexpr std::array<std::chrono::hours, 6> proposals{1h, 6h, 24h, 72h, 168h, 336h};

std::string gigabytes(double bytes) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), bytes < 1e9 ? "%.2f GB" : "%.1f GB", bytes / 1e9);
  return out.data();
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::optional<std::chrono::hours> proposal(std::int64_t seconds) {
  const auto found = std::find_if(proposals.begin(), proposals.end(),
                                  [&](auto hours) { return hours >= 4 * std::chrono::seconds{seconds}; });
  return found == proposals.end() ? std::nullopt : std::optional{*found};
}

}  // namespace

LedgerState read_ledger(inbox::Connection& connection) {
  const auto rows = inbox::run_read(connection, inbox::statements::op_ledger, {});
  const auto& row = rows[0];
  LedgerState out;
  out.generations = row[0].as<std::int64_t>();
  out.ids = row[1].as<std::int64_t>(0);
  out.bytes = row[2].as<std::int64_t>(0);
  out.index_bytes = row[3].as<std::int64_t>(0);
  out.seconds = row[4].as<std::int64_t>(0);
  out.filters = row[5].as<std::int64_t>();
  out.random_share = row[6].as<std::optional<double>>();
  out.shared_buffers = row[7].as<std::int64_t>();
  out.resends = row[8].as<std::int64_t>();
  out.resend_seconds = row[9].as<std::optional<std::int64_t>>();
  out.wal_per_second = row[10].as<double>();
  out.full_page_share = row[11].as<double>();
  out.checkpoint_bytes = row[12].as<std::int64_t>();
  out.most_frozen_ids = row[13].as<std::int64_t>(0);
  return out;
}

std::vector<std::string> ledger_advice(const LedgerState& ledger, const config::Retention& retention,
                                       std::size_t filter_bytes) {
  std::vector<std::string> out;
  if (ledger.bytes < worth_bytes) return out;
  const std::chrono::seconds seen{ledger.seconds};
  const bool is_known = ledger.resends >= enough_resends && ledger.resend_seconds && seen >= enough_time;
  const auto shorter = is_known ? proposal(*ledger.resend_seconds) : std::nullopt;
  if (shorter && (!retention.ledger || *shorter < *retention.ledger) &&
      *shorter * worth_a_change <= seen) {
    const double left = static_cast<double>(ledger.bytes) *
                        static_cast<double>(std::chrono::seconds{*shorter}.count()) /
                        static_cast<double>(ledger.seconds);
    out.push_back("99.9 % of " + std::to_string(ledger.resends) + " resends came within " +
                  config::duration_text(std::chrono::seconds{*ledger.resend_seconds}) + ": retention.ledger: " +
                  config::duration_text(*shorter) + " would need " + gigabytes(left) + " instead of " +
                  gigabytes(static_cast<double>(ledger.bytes)) +
                  "; events older than this are not found by their id, and a resend of one is stored as a new event, "
                  "so keep it no shorter than retention.events and the topics' retention.ms");
  }
  const bool is_random = ledger.random_share.value_or(0) > much_random;
  if (is_random && ledger.full_page_share > much_full_pages && ledger.checkpoint_bytes < near_checkpoints) {
    out.push_back(percent(*ledger.random_share) + " of the ids are random, and " + percent(ledger.full_page_share) +
                  " of the server's WAL is whole pages, written after each checkpoint, every " +
                  gigabytes(static_cast<double>(ledger.checkpoint_bytes)) +
                  ": raise max_wal_size and checkpoint_timeout, or let producers use ids in the order of time "
                  "(UUIDv7)");
  }
  const std::size_t needed = inbox::IdFilter::bytes_for(ledger.most_frozen_ids);
  if (ledger.generations > 1 && needed > filter_bytes) {
    out.push_back("filters of frozen generations need " + gigabytes(static_cast<double>(needed)) +
                  ", and ledger.filter_bytes allows " + gigabytes(static_cast<double>(filter_bytes)) +
                  ": each event is looked up in the oldest generations; raise it, or shorten retention.ledger");
  } else if (ledger.generations > 1 && ledger.filters + 1 < ledger.generations) {
    out.push_back(std::to_string(ledger.generations - 1 - ledger.filters) +
                  " frozen generations have no stored filter yet: each event is looked up in them, until a daemon has "
                  "made it");
  }
  return out;
}

Document document_of(const LedgerState& ledger, const std::vector<std::string>& advice) {
  return {{"generations", ledger.generations},
          {"ids", ledger.ids},
          {"bytes", ledger.bytes},
          {"index_bytes", ledger.index_bytes},
          {"filters", ledger.filters},
          {"random_share", ledger.random_share ? Document(*ledger.random_share) : Document(nullptr)},
          {"shared_buffers", ledger.shared_buffers},
          {"resends", ledger.resends},
          {"resend_seconds", ledger.resend_seconds ? Document(*ledger.resend_seconds) : Document(nullptr)},
          {"full_page_share", ledger.full_page_share},
          {"wal_bytes_per_second", std::llround(ledger.wal_per_second)},
          {"checkpoint_bytes", ledger.checkpoint_bytes},
          {"advice", advice}};
}

}  // namespace inboxd::operations
