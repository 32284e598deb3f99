// Ingest and positions: consumers store the records of two partitions, and commit offsets to the group.
//
// A record is (shard, offset). Several records carry the same id: a resend on the same partition, and a copy on
// another. Each consumer may be a zombie: it carries on with a partition that was assigned to another consumer.
// README.md maps the steps to functions. Invariants of design rules 6 to 8 and of "nothing lost, nothing twice".

#define CONSUMERS 2
#define SHARDS 2
#define EPOCHS 2
#define NONE 99

#ifdef LARGE
#define LONGEST 3
#define END(s) (s == 0 -> 3 : 1)
#define ID(s, o) (s == 0 -> (o == 1 -> 1 : 0) : 1)
#else
#define LONGEST 2
#define END(s) (s == 0 -> 2 : 1)
#define ID(s, o) (s == 0 -> o : 0)
#endif
#define IDS 2

// Table position: a row for each (shard, epoch, first offset). The value is its next offset + 1; 0: no row.
#define WIDTH (LONGEST + 2)
#define KEY(s, e, first) ((s * EPOCHS + e) * WIDTH + first + 1)
byte row[SHARDS * EPOCHS * WIDTH];
byte row_of[SHARDS * EPOCHS * WIDTH];   // the open transaction's consumer + 1; 0: committed

// Table ledger, by id. Its row's state, and the open transaction's consumer + 1.
byte ledger[IDS];                       // 0: no row
byte ledger_of[IDS];
byte ledger_shard[IDS], ledger_offset[IDS];

// Table event.
byte stored[SHARDS * LONGEST];          // rows of this place
byte events[IDS];                       // rows with this id
bool is_gap[SHARDS * LONGEST];          // passed over by an operator's seek

// Kafka's group.
byte assigned[SHARDS];                  // the consumer
byte committed[SHARDS], committed_epoch[SHARDS];

byte faults = 1, rebalances = 1, seeks = 1, trims = 1;
byte running;                              // ingest transactions
bool has_trimmed;

byte i_, e_, f_;                        // of d_steps
byte newest_epoch, newest_next;

bool at_end[SHARDS];                    // all records are below the position

// order by epoch desc, first_offset desc limit 1
inline find_newest(s) {
  newest_next = NONE;
  for (e_ : 0 .. EPOCHS - 1) {
    for (f_ : 0 .. WIDTH - 1) {
      i_ = (s * EPOCHS + e_) * WIDTH + f_;
      if
      :: row[i_] > 0 && row_of[i_] == 0 -> newest_epoch = e_; newest_next = row[i_] - 1
      :: else
      fi
    }
  }
  i_ = 0; e_ = 0; f_ = 0
}

// Only shard 0 is sought. Its newest row is of epoch 1 after that.
#define is_other(s) (row[KEY(s, 1, -1)] > 0 && epoch[s] == 0)

// Each offset below the position has an event, an event with its id, or is in a gap. No offset is committed ahead of
// the database, under the same epoch.
inline check(s) {
  find_newest(s);
  for (i_ : 0 .. END(s) - 1) {
    if
    :: i_ < newest_next -> assert(stored[s * LONGEST + i_] > 0 || events[ID(s, i_)] > 0 || is_gap[s * LONGEST + i_])
    :: else
    fi;
    assert(stored[s * LONGEST + i_] <= 1)
  }
  assert(committed_epoch[s] < newest_epoch || committed[s] <= newest_next);
  at_end[s] = newest_next == END(s);
  for (i_ : 0 .. IDS - 1) { assert(has_trimmed || events[i_] <= 1) }
  i_ = 0
}

// rd_kafka_offsets_store, then the poll thread's commit: the group refuses a consumer that has lost the partition.
inline commit_offset() {
  atomic {
    if
    :: assigned[s] == me ->
       committed[s] = to; committed_epoch[s] = epoch[s];
       printf("consumer %d: commits offset %d of %d\n", me, to, s);
       check(s)
    :: else
    fi
  }
}

inline roll_back() {
  row[KEY(s, epoch[s], next[s])] = 0;
  for (o : 0 .. IDS - 1) {
    if :: ledger_of[o] == me + 1 -> ledger[o] = 0 :: else fi
  }
  end_transaction()
}

inline end_transaction() {
  running--;
  row_of[KEY(s, epoch[s], next[s])] = 0;
  for (o : 0 .. IDS - 1) {
    if :: ledger_of[o] == me + 1 -> ledger_of[o] = 0 :: else fi
  }
  o = 0
}

// insert into position ... where newest = expected on conflict do nothing: the statement's snapshot, then the insert,
// which waits for an open transaction with the same key.
inline insert_position() {
  d_step {
    running++;
    find_newest(s);
    is_mine = newest_epoch == epoch[s] && newest_next == next[s];
#ifdef BROKEN_POSITION_COMPARE
    is_mine = true
#endif
  }
  atomic {
    !is_mine || row_of[KEY(s, epoch[s], next[s])] == 0 ->
    is_mine = is_mine && row[KEY(s, epoch[s], next[s])] == 0;
    if
    :: is_mine -> row[KEY(s, epoch[s], next[s])] = to + 1; row_of[KEY(s, epoch[s], next[s])] = me + 1
    :: else -> running--; printf("consumer %d: position of %d does not match\n", me, s)
    fi
  }
}

#define IN_BATCH(o) (next[s] <= o && o < to && ID(s, o) == id)

// insert into ledger ... on conflict do nothing, in the order of ids. Waits for an open transaction with the same id.
inline insert_ids() {
  do
  :: id == IDS -> break
  :: atomic { id < IDS && !IN_BATCH(0) && !IN_BATCH(1) && !IN_BATCH(2) -> id++ }
  :: else ->
#ifdef BROKEN_LEDGER
     is_known = ledger[id] != 0 && ledger_of[id] == 0;  // by a statement before the insert
     atomic {
#else
     atomic {
       ledger_of[id] == 0 ->
       is_known = ledger[id] != 0;
#endif
       for (o : next[s] .. to - 1) {
         if
         :: ID(s, o) == id ->
            is_gone[o] = is_known;
            if
            :: !is_known ->
               ledger[id] = 1; ledger_of[id] = me + 1; ledger_shard[id] = s; ledger_offset[id] = o
            :: else
            fi;
            is_known = true
         :: else
         fi
       }
       is_known = false; id++; o = 0
     }
  od
}

inline commit() {
  d_step {
    for (o : next[s] .. to - 1) {
      if :: !is_gone[o] -> stored[s * LONGEST + o]++; events[ID(s, o)]++ :: else fi
    }
    end_transaction();
    printf("consumer %d: stored %d to %d of %d\n", me, next[s], to, s);
    check(s)
  }
}

proctype Consumer(byte me) {
  byte epoch[SHARDS], next[SHARDS];     // its positions in memory; NONE: not looked up
  byte s, to, id, o;
  bool is_mine, is_known, is_gone[LONGEST];

  d_step { next[0] = NONE; next[1] = NONE }
  do
  :: at_end[0] && at_end[1] -> break
  // look_up, while the partition is assigned.
  :: atomic {
       if
       :: assigned[0] == me && next[0] == NONE && !at_end[0] -> s = 0
       :: assigned[1] == me && next[1] == NONE && !at_end[1] -> s = 1
       fi;
       find_newest(s);
       epoch[s] = newest_epoch; next[s] = newest_next;
       printf("consumer %d: looks up %d: epoch %d, offset %d\n", me, s, epoch[s], next[s]) }
  // A batch of a single record, or of all.
  :: atomic {
       if
       :: next[0] != NONE && next[0] < END(0) -> s = 0
       :: next[1] != NONE && next[1] < END(1) -> s = 1
       fi;
       if :: to = next[s] + 1 :: to = END(s) fi;
       printf("consumer %d: batch of %d from %d to %d\n", me, s, next[s], to) }
#ifdef BROKEN_OFFSET_FIRST
     commit_offset();
#endif
     insert_position();
     if
     :: is_mine ->
        insert_ids();
        if
        :: atomic { faults > 0 -> faults--; roll_back(); printf("consumer %d: rolled back\n", me) }
        :: commit();
           if
           :: atomic { faults > 0 -> faults--; printf("consumer %d: COMMIT in doubt, the same batch again\n", me) }
           ::
#ifndef BROKEN_OFFSET_FIRST
              commit_offset();
#endif
              next[s] = to
           fi
        fi
     :: else -> next[s] = NONE
     fi;
     d_step { to = 0; id = 0; is_mine = false; for (o : 0 .. LONGEST - 1) { is_gone[o] = false } o = 0 }
#ifndef BROKEN_CHECK
  // PositionCheck: positions in memory are compared with the database.
  :: atomic { next[0] != NONE && is_other(0) -> next[0] = NONE; printf("consumer %d: compares positions\n", me) }
#endif
  :: atomic { faults > 0 && (next[0] != NONE || next[1] != NONE) ->
       faults--; next[0] = NONE; next[1] = NONE; printf("consumer %d: crashes\n", me) }
  od
}

// Rebalances, operators and maintenance.
proctype Others() {
  byte s, id;
  do
  :: at_end[0] && at_end[1] -> break
  :: atomic { rebalances > 0 -> rebalances--;
       if :: s = 0 :: s = 1 fi;
       assigned[s] = 1 - assigned[s];
       printf("rebalance: %d is assigned to consumer %d\n", s, assigned[s]) }
  // partitions seek: a new epoch, under the shard's row.
  :: d_step { seeks > 0 && !(at_end[0] && at_end[1]) && row[KEY(0, 1, -1)] == 0 -> seeks--;
       row[KEY(0, 1, -1)] = 1; at_end[0] = false;
       printf("operator: seeks 0 to its beginning, in a new epoch\n") }
  :: d_step { seeks > 0 && row[KEY(0, 1, -1)] == 0 && !at_end[0] -> seeks--;
       find_newest(0);
       is_gap[newest_next] = true; row[KEY(0, 1, -1)] = newest_next + 2;
       printf("operator: seeks 0 beyond offset %d, in a new epoch\n", newest_next);
       check(0) }
  // trim_ledger, once retention.ledger has passed, and trim_positions, which keeps 1,000 rows of each shard: no
  // transaction is as old. After that no older position is sought, since known ids would be stored again.
#ifdef BROKEN_TRIM
  :: d_step { trims > 0 -> trims--;
#else
  :: d_step { trims > 0 && running == 0 -> trims--;
#endif
       has_trimmed = true; seeks = 0;
       for (id : 0 .. IDS - 1) {
         if
         :: ledger_of[id] == 0 && ledger[id] > 0 ->
            find_newest(ledger_shard[id]);
            if :: ledger_offset[id] < newest_next -> ledger[id] = 0 :: else fi
         :: else
         fi
       }
       for (s : 0 .. SHARDS - 1) {
         find_newest(s);
         for (e_ : 0 .. EPOCHS - 1) {
           for (f_ : 0 .. WIDTH - 1) {
             i_ = (s * EPOCHS + e_) * WIDTH + f_;
             if
             :: row_of[i_] == 0 && row[i_] != newest_next + 1 -> row[i_] = 0
             :: else
             fi
           }
         }
         i_ = 0; e_ = 0; f_ = 0
       }
       s = 0;
       printf("maintenance: trims ledger and positions\n") }
  od
}

init {
  d_step {
    row[KEY(0, 0, -1)] = 1; row[KEY(1, 0, -1)] = 1;
    assigned[1] = 1
  }
  atomic { run Consumer(0); run Consumer(1); run Others() }
}

#ifdef LIVENESS
ltl all_stored { <> (at_end[0] && at_end[1]) }
#endif
