// Written by make_library_records.py.
#pragma once
#include "records.hpp"

namespace inboxd::envelope::test {

inline WrittenRecord python_binary() {
  return {
      {
       {"content-type", "application/json"},
       {"ce_id", "A234-1234-1234"},
       {"ce_source", "/mycontext"},
       {"ce_type", "com.example.order"},
       {"ce_subject", "order-7"},
       {"ce_time", "2024-05-01T12:00:00.25Z"},
       {"ce_specversion", "1.0"}},
      R"({"a": 1})"};
}

inline WrittenRecord python_structured() {
  return {
      {
       {"content-type", "application/json"}},
      R"({"id": "A234-1234-1234", "source": "/mycontext", "type": "com.example.order", "subject": "order-7", )"
      R"("time": "2024-05-01T12:00:00.25Z", "specversion": "1.0", "data": {"a": 1}})"};
}

inline WrittenRecord javascript_binary() {
  return {
      {
       {"content-type", "application/json"},
       {"ce_id", "A234-1234-1234"},
       {"ce_time", "2024-05-01T12:00:00.25Z"},
       {"ce_type", "com.example.order"},
       {"ce_source", "/mycontext"},
       {"ce_specversion", "1.0"},
       {"ce_datacontenttype", "application/json"},
       {"ce_subject", "order-7"},
       {"ce_partitionkey", "k-1"}},
      R"({"a":1})"};
}

inline WrittenRecord javascript_structured() {
  return {
      {
       {"content-type", "application/cloudevents+json; charset=utf-8"}},
      R"({"id":"A234-1234-1234","time":"2024-05-01T12:00:00.250Z","type":"com.example.order","source":"/mycon)"
      R"(text","specversion":"1.0","datacontenttype":"application/json","subject":"order-7","data":{"a":1},"p)"
      R"(artitionkey":"k-1"})"};
}

inline WrittenRecord java_binary() {
  return {
      {
       {"ce_specversion", "1.0"},
       {"ce_id", "A234-1234-1234"},
       {"ce_source", "/mycontext"},
       {"ce_type", "com.example.order"},
       {"content-type", "application/json"},
       {"ce_subject", "order-7"},
       {"ce_time", "2024-05-01T12:00:00.25Z"},
       {"ce_partitionkey", "k-1"}},
      R"({"a":1})"};
}

inline WrittenRecord java_structured() {
  return {
      {
       {"content-type", "application/cloudevents+json"}},
      R"({"specversion":"1.0","id":"A234-1234-1234","source":"/mycontext","type":"com.example.order","datacon)"
      R"(tenttype":"application/json","subject":"order-7","time":"2024-05-01T12:00:00.25Z","partitionkey":"k-)"
      R"(1","data":{"a":1}})"};
}

inline WrittenRecord spring() {
  return {
      {
       {"eventId", "550e8400-e29b-41d4-a716-446655440000"},
       {"attempt", "1"},
       {"spring_json_header_types", R"({"eventId":"java.lang.String","attempt":"java.lang.Integer"})"},
       {"__TypeId__", "com.shop.OrderPlaced"}},
      R"({"orderId":"order-7","amount":12})"};
}

inline WrittenRecord spring_with_json_headers() {
  return {
      {
       {"eventId", R"("550e8400-e29b-41d4-a716-446655440000")"},
       {"attempt", "1"},
       {"spring_json_header_types", R"({"eventId":"java.lang.String","attempt":"java.lang.Integer"})"},
       {"__TypeId__", "com.shop.OrderPlaced"}},
      R"({"orderId":"order-7","amount":12})"};
}

inline WrittenRecord axon() {
  return {
      {
       {"axon-metadata-traceId", "t-1"},
       {"axon-message-id", "8c3f0a1e-55f3-4b29-9d06-3d5a4f1d8f11"},
       {"axon-message-aggregate-seq", "\x00\x00\x00\x00\x00\x00\x00\x02"sv},
       {"axon-message-aggregate-type", "Order"},
       {"axon-message-revision", std::nullopt},
       {"axon-message-timestamp", "\x00\x00\x01\x8f\x34\x06\x9e\xfa"sv},
       {"axon-message-type", "com.shop.OrderPlaced"},
       {"axon-message-aggregate-id", "order-7"}},
      R"({"orderId":"order-7","amount":12})"};
}

inline WrittenRecord go_binary() {
  return {
      {
       {"ce_id", "A234-1234-1234"},
       {"ce_source", "/mycontext"},
       {"ce_specversion", "1.0"},
       {"ce_type", "com.example.order"},
       {"content-type", "application/json"},
       {"ce_subject", "order-7"},
       {"ce_time", "2024-05-01T12:00:00.25Z"},
       {"ce_partitionkey", "k-1"}},
      R"({"a":1})"};
}

inline WrittenRecord go_structured() {
  return {
      {
       {"content-type", "application/cloudevents+json"}},
      R"({"specversion":"1.0","id":"A234-1234-1234","source":"/mycontext","type":"com.example.order","subject)"
      R"(":"order-7","datacontenttype":"application/json","time":"2024-05-01T12:00:00.25Z","data":{"a":1},"pa)"
      R"(rtitionkey":"k-1"})"};
}

inline WrittenRecord dapr() {
  return {
      {},
      R"({"data":{"a":1},"datacontenttype":"application/json","id":"A234-1234-1234","pubsubname":"kafka","sou)"
      R"(rce":"/mycontext","specversion":"1.0","subject":"order-7","time":"2024-05-01T12:00:00Z","topic":"ord)"
      R"(ers","traceid":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","traceparent":"00-0af765191)"
      R"(6cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"","type":"com.dapr.event.sent"})"};
}

}  // namespace inboxd::envelope::test
