#pragma once
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "kafka/properties.hpp"

namespace inboxd::kafka {

/// Whose brokers are not there.
inline Client lonely_client() {
  auto conf = make_conf({"127.0.0.1:1", "", "", {}, 0});
  REQUIRE(conf);
  rd_kafka_conf_set_log_cb(conf.value().get(), nullptr);
  auto made = make_consumer(std::move(conf).value());
  REQUIRE(made);
  return std::move(made).value();
}

}  // namespace inboxd::kafka
