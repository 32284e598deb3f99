#include "consumer/consumer.hpp"

#include <algorithm>

#include "kafka/properties.hpp"

namespace inboxd::consumer {
namespace {

constexpr const char* query_client_refresh_ms = "2000";

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
      topics_{settings.topics},
      poller_{status_, log} {}

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
  query_client_ = std::move(client).value();
  return std::nullopt;
}

std::optional<base::Problem> Consumer::start() {
  if (auto problem = make_query_client()) return problem;
  const auto connections = static_cast<std::size_t>(settings_.ingest.connections);
  auto conf = kafka::make_conf({settings_.kafka.brokers, settings_.kafka.group, settings_.kafka.instance_id,
                                settings_.kafka.properties_now(), settings_.ingest.queued_bytes / connections,
                                std::max(settings_.ingest.queued_events / settings_.ingest.connections, 1)});
  if (!conf) return conf.problem();
  poller_.prepare(conf.value().get());
  if (!settings_.kafka.secrets.empty()) {
    poller_.use(kafka::Credentials{[this] { return settings_.kafka.properties_now(); }});
  }
  auto client = kafka::make_consumer(std::move(conf).value());
  if (!client) return client.problem();
  client_ = std::move(client).value();
  rd_kafka_poll_set_consumer(client_.get());

  const kafka::Clients clients{client_.get(), query_client_.get()};
  std::vector<Ingester*> ingesters;
  for (std::size_t i = 0; i < connections; ++i) {
    ingesters_.push_back(std::make_unique<Ingester>(
        IngesterContext{settings_, owner_, clients, topics_, registrations_, hand_off_, counts_, status_,
                        poller_.mailbox(), poller_.revocations(), poller_.recreated(), watchdog_, log_, tracer_},
        static_cast<int>(i)));
    ingesters.push_back(ingesters_.back().get());
    ingesters.back()->start();
  }
  poller_.start(clients, topics_.subscription(), std::move(ingesters));
  return std::nullopt;
}

void Consumer::request_stop() {
  for (auto& ingester : ingesters_) ingester->request_stop();
}

void Consumer::finish_intake() {
  // The ingesters end first, so that the poll thread commits their last offsets before it leaves the group.
  for (auto& ingester : ingesters_) ingester->join();
  poller_.request_stop();
}

void Consumer::join() {
  finish_intake();
  poller_.join();
  ingesters_.clear();
  if (client_ != nullptr && poller_.left_behind()) {
    kafka::abandon(std::move(client_));
    kafka::abandon(std::move(query_client_));
  }
  client_.reset();
  query_client_.reset();
}

std::vector<base::Loop> Consumer::loops() const {
  std::vector<base::Loop> out{{"poller", poller_.heartbeat().last()}};
  for (const auto& ingester : ingesters_) out.push_back({ingester->name(), ingester->heartbeat().last()});
  return out;
}

}  // namespace inboxd::consumer
