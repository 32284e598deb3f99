// Written by make_library_records.py.
#pragma once
#include "records.hpp"

namespace inboxd::envelope::test {

struct LibraryRecord {
  Headers headers;
  std::string_view value;
};

inline LibraryRecord python_binary() {
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

inline LibraryRecord python_structured() {
  return {
      {
       {"content-type", "application/json"}},
      R"({"id": "A234-1234-1234", "source": "/mycontext", "type": "com.example.order", "subject": "order-7", )"
      R"("time": "2024-05-01T12:00:00.25Z", "specversion": "1.0", "data": {"a": 1}})"};
}

inline LibraryRecord javascript_binary() {
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

inline LibraryRecord javascript_structured() {
  return {
      {
       {"content-type", "application/cloudevents+json; charset=utf-8"}},
      R"({"id":"A234-1234-1234","time":"2024-05-01T12:00:00.250Z","type":"com.example.order","source":"/mycon)"
      R"(text","specversion":"1.0","datacontenttype":"application/json","subject":"order-7","data":{"a":1},"p)"
      R"(artitionkey":"k-1"})"};
}

}  // namespace inboxd::envelope::test
