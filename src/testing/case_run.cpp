#include "testing/case_run.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "daemon/notify.hpp"
#include "daemon/prepare_handlers.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto look_interval = 10ms;
/// For calls that still run at the end of a case.
constexpr auto drain = 5s;

}  // namespace

CaseRun::CaseRun(config::Loaded loaded, plugin::Loader& plugins, base::Logger& log)
    : loaded_{std::make_unique<const config::Loaded>(std::move(loaded))},
      plugins_{plugins},
      log_{log},
      connection_{loaded_->settings.database, "test", watchdog_, log} {}

CaseRun::~CaseRun() { stop(); }

bool CaseRun::stop() {
  if (daemon_ == nullptr) return true;
  daemon_->stop(drain);
  const bool has_left_calls = daemon_->dispatcher().has_left_calls();
  if (has_left_calls) {
    static_cast<void>(daemon_.release());
    static_cast<void>(loaded_.release());
  }
  daemon_.reset();
  return !has_left_calls;
}

std::optional<base::Problem> CaseRun::start() {
  const daemon::Notify nobody;
  const auto identity = daemon::identity_of(owner_, loaded_->settings);
  auto prepared = daemon::prepare(connection_, *loaded_, identity, plugins_, false, watchdog_, nobody, log_);
  if (prepared.refusal) return base::Problem{prepared.refusal->message};
  daemon_ = std::make_unique<daemon::Daemon>(loaded_->settings, owner_, log_);
  intake_.emplace(loaded_->settings, owner_, connection_, daemon_->hand_off(), log_);
  local_intake_.emplace(loaded_->settings, connection_);
  if (const auto refusal = daemon_->start(std::move(prepared))) return base::Problem{refusal->message};
  return std::nullopt;
}

base::Result<std::vector<ObservedRecord>> CaseRun::run(const Case& what, std::chrono::steady_clock::time_point end,
                                                       const std::function<bool()>& must_end) {
  const auto is_over = [&] { return std::chrono::steady_clock::now() >= end || must_end(); };
  std::vector<ObservedRecord> out;
  for (const SampleRecord& sample : what.records) {
    auto taken = store(sample, is_over);
    if (!taken) return base::Problem{"record " + std::to_string(out.size() + 1) + ": " + taken.problem().message};
    out.push_back({std::move(taken).value(), {}});
    while (!observe(out.back(), false) && !is_over()) std::this_thread::sleep_for(look_interval);
  }
  std::vector<std::string> batches;
  for (const auto& handler : loaded_->settings.handlers) {
    if (handler.mode == config::Mode::batch) batches.push_back(handler.name);
  }
  for (ObservedRecord& record : out) {
    while (!observe(record, true) && !is_over()) {
      if (!batches.empty()) inbox::close_idle_windows(connection_, batches);
      std::this_thread::sleep_for(look_interval);
    }
  }
  return out;
}

base::Result<Intake::Taken> CaseRun::store(const SampleRecord& sample, const std::function<bool()>& is_over) {
  const auto& topics = loaded_->settings.topics;
  const bool is_local = std::ranges::any_of(topics, [&](const config::Topic& topic) {
    return topic.name == sample.topic && topic.source == config::Source::local;
  });
  return is_local ? local_intake_->store(sample, is_over) : intake_->store(sample);
}

bool CaseRun::observe(ObservedRecord& record, bool with_batches) {
  if (!record.taken.state || record.taken.state->quarantined) return true;
  bool is_complete = true;
  for (const auto& state : operations::read_event_states(connection_, record.taken.state->event_id)) {
    const auto handler = std::ranges::find(loaded_->settings.handlers, state.handler, &config::Handler::name);
    const bool is_batch = handler != loaded_->settings.handlers.end() && handler->mode == config::Mode::batch;
    Outcome& outcome = record.handlers[state.handler];
    if (outcome.outcome.empty()) outcome = outcome_of(state, is_batch);
    is_complete = is_complete && (!outcome.outcome.empty() || (is_batch && !with_batches));
  }
  return is_complete;
}

std::vector<operations::OutgoingMessage> CaseRun::outbox() { return operations::read_outbox(connection_); }

}  // namespace inboxd::testing
