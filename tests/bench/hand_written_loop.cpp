#include <arpa/inet.h>

#include <cstring>
#include <stdexcept>

#include "application_table.hpp"
#include "baseline_store.hpp"
#include "event_source.hpp"

namespace inboxd::bench {
namespace {

using Array = inbox::ArrayParameter;
using Type = Array::Type;

constexpr const char* create_jobs = R"(
  drop schema if exists bench_loop cascade;
  create schema bench_loop;
  create table bench_loop.job (
    job_id bigint generated always as identity primary key, event_id uuid not null, payload text not null,
    status text not null default 'new', attempts int not null default 0, finished_at timestamptz);
  create index on bench_loop.job (job_id) where status = 'new')";

constexpr const char* fill = R"(
  insert into bench_loop.job (event_id, payload) select * from unnest($1::uuid[], $2::text[]))";

constexpr const char* claim = R"(
  select job_id, event_id, payload from bench_loop.job where status = 'new' order by job_id limit 100
  for update skip locked)";

constexpr const char* insert_one = R"(
  insert into bench_application.applied (event_id, order_number) values ($1::uuid, $2::text::jsonb ->> 'order'))";

constexpr const char* mark_done = R"(
  update bench_loop.job set status = 'done', finished_at = now() where job_id = any ($1::bigint[]))";

void fill_jobs(const Options& options, const std::string& database_url) {
  on_threads(options.connections, [&](int worker) {
    PostgresSession session{database_url};
    session.prepare("fill", fill);
    EventSource source{options, worker, 1};
    SourceBatch batch;
    while (source.next(batch)) {
      Array id{Type::uuid}, payload{Type::text};
      for (const event::Event& event : batch.events) {
        id.add(event.event_id);
        payload.add(event.payload);
      }
      session.call("fill", {text_of(id), text_of(payload)});
    }
  });
}

std::string_view field(const PostgresSession::Result& rows, int row, int column) {
  return {PQgetvalue(rows.get(), row, column), static_cast<std::size_t>(PQgetlength(rows.get(), row, column))};
}

std::int64_t number(std::string_view wire) {
  std::uint64_t value = 0;
  std::memcpy(&value, wire.data(), sizeof value);
  return static_cast<std::int64_t>(be64toh(value));
}

/// Runs an iteration; false if no job is left.
bool work(PostgresSession& session) {
  session.run("begin");
  const auto jobs = session.call("claim", {});
  const int count = PQntuples(jobs.get());
  Array done{Type::int8};
  for (int job = 0; job < count; ++job) {
    session.call("insert", {field(jobs, job, 1), field(jobs, job, 2)});
    done.add(number(field(jobs, job, 0)));
  }
  if (count > 0) session.call("done", {text_of(done)});
  session.run("commit");
  return count > 0;
}

}  // namespace

MeasuredRun run_hand_written(const Options& options, const std::string& database_url, int workers) {
  PostgresSession control{database_url};
  create_application_table(control);
  control.run(create_jobs);
  fill_jobs(options, database_url);
  control.run("vacuum analyze bench_loop.job");
  control.run("checkpoint");
  MeasuredRun run;
  run.events = EventSource::total(options);
  CostMeasurement measurement{control, options.kafka};
  on_threads(workers, [&](int) {
    PostgresSession session{database_url};
    session.prepare("claim", claim);
    session.prepare("insert", insert_one);
    session.prepare("done", mark_done);
    while (work(session)) continue;
  });
  run.cost = measurement.stop();
  run.seconds = run.cost.seconds;
  check_application_table(control, run.events);
  control.run("drop schema bench_loop cascade");
  return run;
}

}  // namespace inboxd::bench
