#pragma once
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "cost_measurement.hpp"

namespace inboxd::bench {

struct MeasuredRun {
  std::int64_t events = 0;
  double seconds = 0;  ///< time for the rate; the cost may cover a little more
  Cost cost;
  double rate() const { return seconds > 0 ? static_cast<double>(events) / seconds : 0; }
};

/// Runs `work(worker)` on all workers' threads at once; rethrows the first exception.
template <class Work>
void on_threads(int count, Work&& work) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int worker = 0; worker < count; ++worker) {
    threads.emplace_back([&, worker] {
      try {
        work(worker);
      } catch (...) {
        thrown[static_cast<std::size_t>(worker)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
}

}  // namespace inboxd::bench
