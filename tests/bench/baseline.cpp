#include "baseline.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "baseline_messages.hpp"
#include "baseline_store.hpp"
#include "kafka_handle.hpp"
#include "queue.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t batches_waiting = 4;
constexpr std::size_t runs_waiting = 10'000;
constexpr std::size_t runs_a_settle = 500;
constexpr int handler_threads = 2;
constexpr auto between_settles = std::chrono::milliseconds{5};
constexpr int poll_timeout_ms = 100;
constexpr std::size_t messages_a_poll = 2000;

class BaselineRunner {
 public:
  BaselineRunner(const Options& options, const std::string& database_url, const std::string& topic)
      : options_{options}, url_{database_url}, topic_{topic}, total_{EventSource::total(options)} {
    for (int i = 0; i < options.connections; ++i)
      to_ingest_.push_back(std::make_unique<Queue<Messages>>(batches_waiting));
  }

  void run() {
    const int ingesters = options_.connections;
    on_threads(1 + ingesters + handler_threads + 1, [&](int worker) {
      if (worker == 0) {
        poll();
      } else if (worker <= ingesters) {
        ingest(*to_ingest_[static_cast<std::size_t>(worker - 1)]);
      } else if (worker <= ingesters + handler_threads) {
        handle();
      } else {
        settle();
      }
    });
  }

  double seconds_to(Clock::time_point end) const { return std::chrono::duration<double>(end - began_).count(); }
  Clock::time_point all_stored() const { return all_stored_; }
  Clock::time_point all_settled() const { return all_settled_; }

 private:
  void poll() {
    const auto consumer = consume_from_beginning(options_.kafka, topic_, options_.partitions);
    rd_kafka_queue_t* const queue = rd_kafka_queue_get_consumer(consumer.get());
    std::vector<rd_kafka_message_t*> polled(messages_a_poll);
    std::vector<Messages> gathered(to_ingest_.size());
    for (std::int64_t seen = 0; seen < total_;) {
      const auto count = rd_kafka_consume_batch_queue(queue, poll_timeout_ms, polled.data(), polled.size());
      for (ssize_t i = 0; i < count; ++i) {
        Message message{polled[static_cast<std::size_t>(i)], rd_kafka_message_destroy};
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
        if (seen++ == 0) began_ = Clock::now();
        const std::size_t worker = static_cast<std::size_t>(message->partition) % to_ingest_.size();
        gathered[worker].push_back(std::move(message));
        if (gathered[worker].size() == static_cast<std::size_t>(options_.batch)) {
          to_ingest_[worker]->put(std::exchange(gathered[worker], {}));
        }
      }
    }
    for (std::size_t worker = 0; worker < to_ingest_.size(); ++worker) {
      if (!gathered[worker].empty()) to_ingest_[worker]->put(std::move(gathered[worker]));
      to_ingest_[worker]->close();
    }
    gathered.clear();
    // The consumer owns the messages and has to outlive them.
    std::unique_lock lock{ended_mutex_};
    ended_.wait(lock, [&] { return ingesters_ended_ == static_cast<int>(to_ingest_.size()); });
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer.get());
  }

  void ingest(Queue<Messages>& queue) {
    {
      BaselineStore store{url_};
      while (true) {
        auto taken = queue.take(1);
        if (taken.empty()) break;
        for (const BaselineDelivery& run : store.store(batch_of(taken.front(), options_.partitions)))
          in_flight_.put(run);
        stored_ += static_cast<std::int64_t>(taken.front().size());
        if (stored_ == total_) all_stored_ = Clock::now();
      }
    }
    const std::lock_guard lock{ended_mutex_};
    if (++ingesters_ended_ == static_cast<int>(to_ingest_.size())) in_flight_.close();
    ended_.notify_all();
  }

  void handle() {
    while (true) {
      const auto runs = in_flight_.take(1);
      if (runs.empty()) break;
      handled_.put(runs.front());
    }
    if (++handlers_ended_ == handler_threads) handled_.close();
  }

  void settle() {
    BaselineStore store{url_};
    while (true) {
      const auto runs = handled_.take(runs_a_settle);
      if (runs.empty()) break;
      store.settle(runs);
      all_settled_ = Clock::now();
      std::this_thread::sleep_for(between_settles);
    }
  }

  const Options& options_;
  const std::string url_, topic_;
  const std::int64_t total_;
  std::vector<std::unique_ptr<Queue<Messages>>> to_ingest_;
  Queue<BaselineDelivery> in_flight_{runs_waiting}, handled_{runs_waiting};
  std::atomic<std::int64_t> stored_{0};
  std::atomic<int> handlers_ended_{0};
  std::mutex ended_mutex_;
  std::condition_variable ended_;
  int ingesters_ended_ = 0;
  Clock::time_point began_, all_stored_, all_settled_;
};

}  // namespace

BaselineRates run_baseline(const Options& options, const std::string& database_url, const std::string& topic) {
  PostgresSession control{database_url};
  BaselineStore::create(control, options.partitions);
  BaselineRunner runner{options, database_url, topic};
  CostMeasurement measurement{control, options.kafka};
  runner.run();
  const Cost cost = measurement.stop();
  const std::int64_t events = EventSource::total(options);
  const auto settled = control.number("select sum(upper(r) - lower(r)) from bench_baseline.outcome, unnest(offsets) r");
  if (settled != events) throw std::runtime_error{"baseline: not all events are settled"};
  control.run("drop schema bench_baseline cascade");
  return {{events, runner.seconds_to(runner.all_stored()), cost},
          {events, runner.seconds_to(runner.all_settled()), cost}};
}

}  // namespace inboxd::bench
