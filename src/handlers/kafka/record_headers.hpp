#pragma once
#include <librdkafka/rdkafka.h>

#include <inboxd/handler.hpp>
#include <memory>

namespace kafka_handler {

struct DestroyHeaders {
  void operator()(rd_kafka_headers_t* headers) const { rd_kafka_headers_destroy(headers); }
};
using RecordHeaders = std::unique_ptr<rd_kafka_headers_t, DestroyHeaders>;

/// The event's own headers, if `keep`, without the names that follow: the CloudEvents attributes ce_specversion, ce_id,
/// ce_source and ce_type, the event's place (inboxd-…), and the trace context. `payload`: of the copy;
/// `is_decoded`: it is JSON, so the names of its former schema and media type are left out.
RecordHeaders headers_of(const inboxd::Event& event, inboxd::MaybeText payload, bool is_decoded, bool keep,
                         inboxd::MaybeText traceparent, inboxd::MaybeText tracestate);

}  // namespace kafka_handler
