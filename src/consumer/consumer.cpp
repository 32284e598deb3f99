#include "consumer/consumer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <future>
#include <utility>

#include "base/mutex.hpp"
#include "kafka/properties.hpp"

namespace inboxd::consumer {
namespace {

constexpr const char* query_client_refresh_ms = "2000";
constexpr std::chrono::seconds watch_interval{1};
/// Ending a client takes milliseconds, unless the library waits for itself.
constexpr std::chrono::seconds max_destroy{10};

/// Destroys both clients without leaving the group, in a thread of its own. False: the library waits for something, and
/// the thread is left running. `query` may have other owners.
bool destroy(kafka::Client member, std::shared_ptr<rd_kafka_t> query) {
  std::promise<void> promise;
  auto done = promise.get_future();
  std::thread{[member = member.release(), query = std::move(query), promise = std::move(promise)]() mutable {
    query.reset();
    rd_kafka_destroy_flags(member, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    promise.set_value();
  }}.detach();
  return done.wait_for(max_destroy) == std::future_status::ready;
}

std::chrono::milliseconds session_timeout_of(const rd_kafka_conf_t* conf) {
  std::array<char, 32> value{};
  std::size_t size = value.size();
  const bool is_known = rd_kafka_conf_get(conf, "session.timeout.ms", value.data(), &size) == RD_KAFKA_CONF_OK;
  return std::chrono::milliseconds{is_known ? std::atoll(value.data()) : 0};
}

}  // namespace

Consumer::Consumer(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
                   HandOff& hand_off, inbox::Watchdog& watchdog, base::Logger& log, trace::Tracer* tracer)
    : settings_{settings},
      owner_{owner},
      registrations_{registrations},
      hand_off_{hand_off},
      watchdog_{watchdog},
      log_{log},
      tracer_{tracer},
      reads_kafka_{settings.reads_kafka()},
      topics_{config::kafka_topics(settings.topics), settings.shard},
      local_{settings, owner, registrations, hand_off, counts_, status_, watchdog, log, tracer},
      poller_{status_, log},
      member_watch_{settings.kafka, topics_, log} {
  status_.name_brokers(settings.kafka.brokers);
  if (!settings.has_ingest_right()) return;
  const IngestRight::Calls calls{[this] { return query_client(); },
                                 [this](auto partitions) { poller_.read(std::move(partitions)); }};
  right_ = std::make_unique<IngestRight>(settings, owner, topics_, calls, status_, watchdog, log);
}

Consumer::~Consumer() {
  request_stop();
  join();
}

std::optional<base::Problem> Consumer::make_query_client() {
  auto properties = settings_.kafka.properties_now();
  // It subscribes to no topics, so only this interval makes it notice that a broker has gone.
  properties["topic.metadata.refresh.interval.ms"] = query_client_refresh_ms;
  properties["enable.metrics.push"] = "false";  // the member pushes enough, and closing would wait for a last push
  auto conf = kafka::make_conf({settings_.kafka.brokers, "", "", properties, 0});
  if (!conf) return conf.problem();
  rd_kafka_conf_set_opaque(conf.value().get(), &log_);
  rd_kafka_conf_set_log_cb(conf.value().get(), [](const rd_kafka_t* client, int level, const char*, const char* text) {
    auto* const log = client == nullptr ? nullptr : static_cast<base::Logger*>(rd_kafka_opaque(client));
    if (log != nullptr) log->debug("kafka.query_client_log", {{"syslog_level", level}, {"text", text}});
  });
  auto client = kafka::make_consumer(std::move(conf).value());
  if (!client) return client.problem();
  const base::Lock lock{mutex_};
  query_client_ = std::shared_ptr<rd_kafka_t>{std::move(client).value()};
  return std::nullopt;
}

std::optional<base::Problem> Consumer::start() {
  if (settings_.has_local_topics()) read_local_topics();
  if (!reads_kafka_) return std::nullopt;
  if (auto problem = start_clients()) return problem;
  if (right_ != nullptr) right_->start();
  watch_thread_ = std::thread{[this] { watch(); }};
  pthread_setname_np(watch_thread_.native_handle(), "member watch");
  return std::nullopt;
}

void Consumer::read_local_topics() {
  if (!local_.is_running()) local_.start();
}

std::optional<base::Problem> Consumer::start_clients() {
  if (auto problem = make_query_client()) return problem;
  const auto connections = static_cast<std::size_t>(settings_.ingest.connections);
  auto conf = kafka::make_conf({settings_.kafka.brokers, settings_.kafka.group, settings_.kafka.instance_id,
                                settings_.kafka.properties_now(), settings_.ingest.queued_bytes / connections,
                                std::max(settings_.ingest.queued_events / settings_.ingest.connections, 1),
                                topics_.excluded()});
  if (!conf) return conf.problem();
  unjoined_limit_ = MemberWatch::unjoined_limit(session_timeout_of(conf.value().get()));
  poller_.prepare(conf.value().get());
  poller_.use(kafka::Credentials{[this] { return settings_.kafka.properties_now(); }});
  auto client = kafka::make_consumer(std::move(conf).value());
  if (!client) return client.problem();
  client_ = std::move(client).value();
  rd_kafka_poll_set_consumer(client_.get());

  const kafka::Clients clients{client_.get(), query_client().get()};
  std::vector<Ingester*> ingesters;
  const base::Lock lock{mutex_};
  for (std::size_t i = 0; i < connections; ++i) {
    ingesters_.push_back(std::make_unique<Ingester>(
        IngesterContext{settings_, owner_, clients, topics_, registrations_, hand_off_, counts_, status_,
                        poller_.mailbox(), poller_.revocations(), poller_.recreated(), decoders_, watchdog_,
                        log_, tracer_},
        static_cast<int>(i)));
    ingesters.push_back(ingesters_.back().get());
    ingesters.back()->start();
  }
  poller_.start(clients, right_ == nullptr ? topics_.subscription() : std::vector<std::string>{}, std::move(ingesters));
  return std::nullopt;
}

void Consumer::watch() {
  while (!stop_.wait_for(watch_interval)) {
    if (poller_.is_outdated() && can_make_client()) {
      log_.info("consumer.credentials_changed");
      remake();
      if (failed_) return;
      continue;
    }
    if (status_.is_group_refused()) continue;  // a new client would be refused, too
    const std::unique_ptr<char, void (*)(char*)> id{rd_kafka_memberid(client_.get()),
                                                    [](char* text) { rd_kafka_mem_free(nullptr, text); }};
    const auto now = MemberWatch::Clock::now();
    const std::string member = id == nullptr ? "" : id.get();
    if (!member_watch_.is_stuck(poller_.unjoined_since(), unjoined_limit_, member, now)) continue;
    log_.error("consumer.remade", {{"seconds", unjoined_limit_.count()}});
    ++remade_;
    remake();
    if (failed_) return;
  }
}

/// A certificate and its key are rotated separately, and fit only once both are new.
bool Consumer::can_make_client() const {
  auto conf = kafka::make_conf({settings_.kafka.brokers, "", "", settings_.kafka.properties_now(), 0});
  return conf && kafka::make_consumer(std::move(conf).value());
}

std::vector<Ingester*> Consumer::ingesters() const {
  const base::Lock lock{mutex_};
  std::vector<Ingester*> out;
  out.reserve(ingesters_.size());
  for (const auto& ingester : ingesters_) out.push_back(ingester.get());
  return out;
}

/// Ends the ingesters. The caller ends the client for queries, without the lock: that may wait for brokers.
std::shared_ptr<rd_kafka_t> Consumer::take_ingest() {
  decltype(ingesters_) ended;  // their questions to brokers may take seconds to end, too
  const base::Lock lock{mutex_};
  ended.swap(ingesters_);
  return std::exchange(query_client_, nullptr);
}

void Consumer::remake() {
  const auto old = ingesters();
  for (Ingester* const ingester : old) ingester->request_stop();
  for (Ingester* const ingester : old) ingester->join();
  poller_.abandon();
  for (Ingester* const ingester : old) ingester->forget_all();
  if (!destroy(std::move(client_), take_ingest())) {
    log_.error("consumer.client_hangs");
    failed_ = true;
    return;
  }
  if (stop_.is_requested()) return;
  if (const auto problem = start_clients()) {
    log_.error("consumer.no_client", {{"error", problem->message}});
    failed_ = true;
  }
}

void Consumer::request_stop() {
  stop_.request();
  local_.request_stop();
  const base::Lock lock{mutex_};
  for (auto& ingester : ingesters_) ingester->request_stop();
}

void Consumer::finish_intake() {
  if (watch_thread_.joinable()) watch_thread_.join();
  local_.request_stop();
  local_.join();
  // The ingesters end first, so that the poll thread commits their last offsets before it leaves the group.
  for (Ingester* const ingester : ingesters()) {
    ingester->request_stop();
    ingester->join();
  }
  poller_.request_stop();
  if (right_ == nullptr) return;
  // Released after the last commit, and before the drain: another instance reads meanwhile.
  poller_.join();
  right_->request_stop();
  right_->join();
}

void Consumer::join() {
  finish_intake();
  poller_.join();
  std::shared_ptr<rd_kafka_t> query_client = take_ingest();
  if (client_ != nullptr && poller_.left_behind()) {
    kafka::abandon(std::move(client_));
    static_cast<void>(new std::shared_ptr<rd_kafka_t>{query_client});  // leaked
    kafka::abandon(kafka::Client{query_client.get()});
  }
  client_.reset();
}

std::shared_ptr<rd_kafka_t> Consumer::query_client() const {
  const base::Lock lock{mutex_};
  return query_client_;
}

std::vector<base::Loop> Consumer::loops() const {
  const base::Lock lock{mutex_};
  std::vector<base::Loop> out;
  if (!ingesters_.empty()) out.push_back({"poller", poller_.heartbeat().last()});  // none while clients are replaced
  for (const auto& ingester : ingesters_) out.push_back({ingester->name(), ingester->heartbeat().last()});
  if (right_ != nullptr) out.push_back({"ingest right", right_->heartbeat().last()});
  if (local_.is_running()) out.push_back({"local reader", local_.heartbeat().last()});
  return out;
}

}  // namespace inboxd::consumer
