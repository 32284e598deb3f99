// The database is restored to an earlier state, or fails over to a standby that lacks commits, while daemons run.
//
// Positions, ledger, deliveries and outcomes move back together; the consumer's and the workers' memory, Kafka's log
// and the group's offsets do not. Ids of deliveries repeat after that, in another order. Each transaction is a single
// step: ingest.pml and claim.pml have their statements. Design rules 2, 6 and 8.

#define SHARDS 2
#define WORKERS 2
#define EACH 2
#ifdef LARGE
#define END(s) 2                        // records of a shard
#define RESTORES 2
#else
#define END(s) (2 - (s))
#define RESTORES 1
#endif
#define EVENTS (SHARDS * EACH)
#define ROWS 4                          // ids of deliveries
#define EVENT(s, o) ((s) * EACH + (o))
#define OFFSET(e) ((e) % EACH)
#define NONE 99

typedef Database {
  byte position[SHARDS];
  byte rows;                            // the sequence of delivery_id
  byte event[ROWS];                     // of a delivery, + 1; 0: no row
  byte fence[ROWS];                     // 0: not leased
  byte fences;                          // only for a counter in place of random numbers
  byte outcomes[EVENTS];
  byte applied[EVENTS]                  // the handler's own writes
}
Database now;
Database backup;
bool has_backup;

byte next[SHARDS];                      // the consumer's positions in memory; NONE: not looked up
byte committed[SHARDS];                 // the group's offsets: a cache, never read
byte held[WORKERS + 1];                 // the fences that workers have in memory
byte drawn;                             // fences drawn; a random number never comes twice
byte restores = RESTORES, expiries = 1;
byte i_, j_, k_;

// Each event below the position is pending or has an outcome, exactly one of both, and so have the handler's writes.
inline check() {
  for (i_ : 0 .. EVENTS - 1) {
    k_ = now.outcomes[i_];
    assert(now.applied[i_] == now.outcomes[i_]);
    for (j_ : 0 .. ROWS - 1) {
      if :: now.event[j_] == i_ + 1 -> k_++ :: else fi
    }
    assert(k_ == (now.position[i_ / EACH] > OFFSET(i_) -> 1 : 0))
  }
  i_ = 0; j_ = 0; k_ = 0
}

inline copy(to, from) {
  for (i_ : 0 .. SHARDS - 1) { to.position[i_] = from.position[i_] }
  for (i_ : 0 .. ROWS - 1) { to.event[i_] = from.event[i_]; to.fence[i_] = from.fence[i_] }
  for (i_ : 0 .. EVENTS - 1) { to.outcomes[i_] = from.outcomes[i_]; to.applied[i_] = from.applied[i_] }
  to.rows = from.rows; to.fences = from.fences;
  i_ = 0
}

#define HAS_OUTCOMES(s) (now.outcomes[EVENT(s, 0)] > 0 && now.outcomes[EVENT(s, END(s) - 1)] > 0)
#define IS_OVER (HAS_OUTCOMES(0) && HAS_OUTCOMES(1) && (restores == 0 || !has_backup))

active proctype Consumer() {
  byte s;
  d_step { next[0] = NONE; next[1] = NONE }
  do
  :: IS_OVER -> break
  :: atomic {
       if :: next[0] == NONE -> s = 0 :: next[1] == NONE -> s = 1 fi;
#ifdef BROKEN_GROUP_OFFSET
       next[s] = committed[s];
#else
       next[s] = now.position[s];
#endif
       printf("consumer: looks up %d: offset %d\n", s, next[s]) }
  // inbox.ingest, and the commit of the offset.
  :: d_step {
       if
       :: next[0] < END(0) -> s = 0
       :: next[1] < END(1) -> s = 1
       fi;
       if
#ifdef BROKEN_POSITION_COMPARE
       :: true ->
#else
       :: now.position[s] == next[s] ->
#endif
          now.event[now.rows] = EVENT(s, next[s]) + 1; now.fence[now.rows] = 0;
          printf("consumer: stores offset %d of %d as delivery %d\n", next[s], s, now.rows);
          now.rows++; next[s]++;
          now.position[s] = next[s]; committed[s] = next[s];
          check()
       :: else -> next[s] = NONE; printf("consumer: position of %d does not match\n", s)
       fi }
  // The other shard first, so that deliveries get other ids.
  :: d_step { next[0] < END(0) && next[1] < END(1) && now.position[1] == next[1] ->
       now.event[now.rows] = EVENT(1, next[1]) + 1; now.fence[now.rows] = 0;
       printf("consumer: stores offset %d of 1 as delivery %d\n", next[1], now.rows);
       now.rows++; next[1]++;
       now.position[1] = next[1]; committed[1] = next[1];
       check() }
#ifndef BROKEN_CHECK
  // PositionCheck, in each new session.
  :: d_step {
       if
       :: next[0] != NONE && next[0] != now.position[0] -> s = 0
       :: next[1] != NONE && next[1] != now.position[1] -> s = 1
       fi;
       next[s] = NONE; printf("consumer: compares positions\n") }
#endif
  od
}

// A worker of a process with several; a handler with SQL.
active [WORKERS] proctype Worker() {
  byte row, fence, event;
  do
  :: IS_OVER -> break
  :: d_step {
       if
       :: now.event[0] > 0 && now.fence[0] == 0 -> row = 0
       :: now.event[1] > 0 && now.fence[1] == 0 -> row = 1
       :: now.event[2] > 0 && now.fence[2] == 0 -> row = 2
       :: now.event[3] > 0 && now.fence[3] == 0 -> row = 3
       fi;
#ifdef BROKEN_FENCE
       now.fences++; fence = now.fences;
#else
       drawn++; fence = drawn;
#endif
       now.fence[row] = fence;
       event = now.event[row] - 1; held[_pid] = fence;
       printf("worker %d: claims delivery %d, event %d, fence %d\n", _pid, row, event, fence) }
     // tx_settle in the handler's transaction: id, fence, and offsets of the delivery's shard.
     d_step {
       if
       :: now.event[row] > 0 && now.fence[row] == fence && OFFSET(now.event[row] - 1) == OFFSET(event) ->
          printf("worker %d: settles event %d by delivery %d, of event %d\n", _pid, event, row, now.event[row] - 1);
          now.applied[event]++; now.outcomes[now.event[row] - 1]++; now.event[row] = 0;
          check()
       :: else -> printf("worker %d: has lost delivery %d\n", _pid, row)
       fi;
       row = 0; fence = 0; event = 0; held[_pid] = 0 }
  od
}

#define IS_HELD(row) (now.fence[row] == held[1] || now.fence[row] == held[2])

// Backups, restores, and ends of leases.
active proctype Others() {
  byte r;
  do
  :: IS_OVER -> break
  :: d_step { !has_backup && restores > 0 -> has_backup = true; copy(backup, now); printf("backup: taken\n") }
  :: d_step { has_backup && restores > 0 -> restores--; copy(now, backup); printf("restore: done\n") }
  // Any lease may end, and the lease of a worker that has lost it, by the restore, has to.
  :: d_step {
       if
       :: expiries > 0 && now.event[0] > 0 && now.fence[0] > 0 -> r = 0; expiries--
       :: now.event[0] > 0 && now.fence[0] > 0 && !IS_HELD(0) -> r = 0
       :: now.event[1] > 0 && now.fence[1] > 0 && !IS_HELD(1) -> r = 1
       :: now.event[2] > 0 && now.fence[2] > 0 && !IS_HELD(2) -> r = 2
       :: now.event[3] > 0 && now.fence[3] > 0 && !IS_HELD(3) -> r = 3
       fi;
       now.fence[r] = 0; printf("lease: of delivery %d ends\n", r); r = 0 }
  od
}

#ifdef LIVENESS
ltl all_settled { <> IS_OVER }
#endif
