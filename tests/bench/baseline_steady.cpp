#include "baseline_steady.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include "baseline_messages.hpp"
#include "baseline_store.hpp"
#include "kafka_handle.hpp"
#include "queue.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

constexpr std::size_t messages_waiting = 10'000;
constexpr std::size_t batches_in_flight = 1000;
constexpr std::size_t runs_a_settle = 500;
constexpr auto between_settles = std::chrono::milliseconds{5};
constexpr int poll_timeout_ms = 20;

/// A stored batch before its hand-over.
struct InFlight {
  Messages messages;
  std::vector<BaselineDelivery> runs;
};

/// The threads of a run: a poller, `connections` ingesters, a handler, a settler.
class SteadyBaseline {
 public:
  SteadyBaseline(const Options& options, const std::string& database_url, const std::string& topic, std::int64_t events,
                 const std::atomic<bool>& stop)
      : options_{options},
        url_{database_url},
        consumer_{consume_from_beginning(options.kafka, topic, options.partitions)},
        events_{events},
        stop_{stop} {
    for (int i = 0; i < options.connections; ++i)
      to_ingest_.push_back(std::make_unique<Queue<Message>>(messages_waiting));
  }

  Latencies run() {
    const int ingesters = options_.connections;
    on_threads(ingesters + 3, [&](int worker) {
      if (worker < ingesters) {
        ingest(*to_ingest_[static_cast<std::size_t>(worker)]);
      } else if (worker == ingesters) {
        poll();
      } else if (worker == ingesters + 1) {
        handle();
      } else {
        settle();
      }
    });
    rd_kafka_consumer_close(consumer_.get());
    return std::move(latencies_);
  }

 private:
  void poll() {
    for (std::int64_t seen = 0; seen < events_;) {
      Message message{rd_kafka_consumer_poll(consumer_.get(), poll_timeout_ms), [](rd_kafka_message_t* polled) {
                        if (polled != nullptr) rd_kafka_message_destroy(polled);
                      }};
      if (message == nullptr && stop_) break;
      if (message == nullptr || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      ++seen;
      to_ingest_[static_cast<std::size_t>(message->partition) % to_ingest_.size()]->put(std::move(message));
    }
    for (const auto& queue : to_ingest_) queue->close();
  }

  /// If the last thread fails, the threads before it must not wait for space.
  struct Closing {
    Queue<BaselineDelivery>& queue;
    ~Closing() { queue.close(); }
  };

  /// Marks the end of an ingest thread, also if it fails.
  struct Ending {
    SteadyBaseline& baseline;
    Queue<Message>& queue;
    ~Ending() {
      queue.close();
      if (++baseline.ingesters_ended_ == baseline.options_.connections) baseline.in_flight_.close();
    }
  };

  void ingest(Queue<Message>& queue) {
    const Ending ending{*this, queue};
    BaselineStore store{url_};
    while (true) {
      Messages taken = queue.take(static_cast<std::size_t>(options_.batch));
      if (taken.empty()) break;
      auto runs = store.store(batch_of(taken, options_.partitions));
      in_flight_.put({std::move(taken), std::move(runs)});
    }
  }

  void handle() {
    while (true) {
      const auto taken = in_flight_.take(1);
      if (taken.empty()) break;
      for (const Message& message : taken.front().messages) {
        const auto took = microseconds_since_sending({static_cast<const char*>(message->payload), message->len});
        if (took) latencies_.push_back(*took);
      }
      for (const BaselineDelivery& run : taken.front().runs) handled_.put(run);
    }
    handled_.close();
  }

  void settle() {
    const Closing closing{handled_};
    BaselineStore store{url_};
    while (true) {
      const auto runs = handled_.take(runs_a_settle);
      if (runs.empty()) break;
      store.settle(runs);
      std::this_thread::sleep_for(between_settles);
    }
  }

  const Options& options_;
  const std::string url_;
  const KafkaHandle consumer_;
  const std::int64_t events_;
  const std::atomic<bool>& stop_;
  std::vector<std::unique_ptr<Queue<Message>>> to_ingest_;
  Queue<InFlight> in_flight_{batches_in_flight};
  Queue<BaselineDelivery> handled_{messages_waiting};
  std::atomic<int> ingesters_ended_{0};
  Latencies latencies_;
};

}  // namespace

Latencies run_baseline_steadily(const Options& options, const std::string& database_url, const std::string& topic,
                                std::int64_t events, const std::atomic<bool>& stop) {
  PostgresSession control{database_url};
  BaselineStore::create(control, options.partitions);
  Latencies out = SteadyBaseline{options, database_url, topic, events, stop}.run();
  control.run("drop schema bench_baseline cascade");
  return out;
}

}  // namespace inboxd::bench
