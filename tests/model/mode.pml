// An operator changes the mode of a handler while rows are ingested, claimed, split and settled.
//
// Registration takes the routing lock exclusively, ingest and claims of sequences take it shared. Claims of mode single
// do not take it at all, and settlements take the sequence only. Design rules 1, 14, 16 and 17.

#ifdef LARGE
#define CHANGES 2
#else
#define CHANGES 1
#endif
#define ROWS 4
#define MAINTENANCE 9                   // the lock of the session that changes the mode

mtype = { single, sequential, batch };
#define NONE 0                          // sequences: rows of mode single
#define SHARD 1
#define WHOLE 2
#define SEQUENCE_OF(m) (m == single -> NONE : (m == batch -> WHOLE : SHARD))

// Tables handler, sequence and delivery, as committed.
mtype mode;
byte version;
bool has_owner;                         // of the sequence
byte rows;
bool is_pending[ROWS];
byte owner[ROWS];                       // 0: not leased
byte sequence[ROWS];
byte events[ROWS];

// Locks.
bool is_routing_held;                   // exclusively
byte routing_shares;
byte sequence_lock, sequence_shares;
byte lock[ROWS];

byte changes = CHANGES, ingests = 1, retries = 1, i_;

inline insert(in, number) {
  is_pending[rows] = true; sequence[rows] = in; events[rows] = number;
  rows++
}

// find_misplaced: a row whose sequence contradicts the mode, so that no instance runs it, or not in its turn.
inline check() {
  for (i_ : 0 .. ROWS - 1) {
    assert(!is_pending[i_] || sequence[i_] == SEQUENCE_OF(mode) || (mode == sequential && sequence[i_] == NONE))
  }
  i_ = 0
}

inline share_routing() { atomic { !is_routing_held -> routing_shares++ } }
inline unshare_routing() { routing_shares-- }

// inbox.ingest: a batch that was routed under an older version is refused.
proctype Ingester() {
  byte routed_version;
  mtype routed;
  do
  :: ingests == 0 -> break
  :: else ->
     atomic { routed_version = version; routed = mode }
     share_routing();
     atomic {
       if
#ifdef BROKEN_VERSION
       :: true ->
#else
       :: routed_version == version ->
#endif
          ingests--; insert(SEQUENCE_OF(routed), 1);
          printf("ingest: stores delivery %d of sequence %d\n", rows - 1, sequence[rows - 1]);
          check()
       :: else -> printf("ingest: has an older version\n")
       fi;
       unshare_routing()
     }
  od
}

// inbox.settle: the sequence, then the row, then a row for a retry. A lane and a window keep the row's sequence.
inline settle() {
  from = sequence[r];
  if
  :: from != NONE ->
     atomic { sequence_lock == 0 -> sequence_shares++ }
     is_mine = has_owner;
  :: else
  fi;
  atomic {
    lock[r] == 0 ->
    is_mine = is_mine && is_pending[r] && owner[r] == me && sequence[r] == from;
    lock[r] = (is_mine -> me : 0)
  }
  atomic {
    if
    :: is_mine ->
       is_pending[r] = false; owner[r] = 0;
       if
       :: retries > 0 -> retries--; insert(from, 1);
          printf("instance %d: delivery %d fails, its retry is %d\n", me, r, rows - 1)
       :: true -> printf("instance %d: delivery %d is done\n", me, r)
       fi;
       lock[r] = 0; check()
    :: else -> printf("instance %d: has lost delivery %d\n", me, r)
    fi;
    sequence_shares = (from != NONE -> sequence_shares - 1 : sequence_shares);
    is_mine = false; from = 0; r = 0
  }
}

// An instance: claims a row in parts, then settles it.
proctype Instance(byte me) {
  byte r, from;
  bool is_mine;
end:
  do
  // inbox.claim, for rows without a sequence: snapshot, lock with the condition again, COMMIT.
  :: atomic {
       if
       :: is_pending[0] && owner[0] == 0 && sequence[0] == NONE -> r = 0
       :: is_pending[1] && owner[1] == 0 && sequence[1] == NONE -> r = 1
       :: is_pending[2] && owner[2] == 0 && sequence[2] == NONE -> r = 2
       :: is_pending[3] && owner[3] == 0 && sequence[3] == NONE -> r = 3
       fi
     }
     atomic {
       is_mine = lock[r] == 0 && is_pending[r] && owner[r] == 0 && sequence[r] == NONE;
       lock[r] = (is_mine -> me : lock[r])
     }
     atomic {
       if
       :: is_mine ->
          owner[r] = me;
          if
          :: events[r] > 1 -> events[r]--; insert(NONE, 1);
             printf("instance %d: claims a part of delivery %d, the rest is %d\n", me, r, rows - 1)
          :: else -> printf("instance %d: claims delivery %d\n", me, r)
          fi;
          lock[r] = 0; check()
       :: else
       fi
     }
     if :: is_mine -> settle() :: else fi
  // take_sequences, then claim_in_order under the shared routing lock.
  :: atomic { mode != single && !has_owner && !is_routing_held && routing_shares == 0 && sequence_lock == 0 &&
       sequence_shares == 0 -> has_owner = true; printf("instance %d: takes the sequence\n", me) }
  :: atomic {
       has_owner && !is_routing_held -> routing_shares++;
       if
       :: is_pending[0] && owner[0] == 0 && sequence[0] != NONE -> r = 0
       :: is_pending[1] && owner[1] == 0 && sequence[1] != NONE -> r = 1
       :: is_pending[2] && owner[2] == 0 && sequence[2] != NONE -> r = 2
       :: is_pending[3] && owner[3] == 0 && sequence[3] != NONE -> r = 3
       :: else -> r = ROWS
       fi
     }
     atomic {
       is_mine = false;
       if
       :: r < ROWS -> is_mine = lock[r] == 0 && is_pending[r] && owner[r] == 0;
          if
          :: is_mine -> owner[r] = me; printf("instance %d: claims delivery %d in order\n", me, r)
          :: else
          fi
       :: else
       fi;
       unshare_routing()
     }
     if :: is_mine -> settle() :: else fi
  od
}

// The statement's condition. Rows that this session has changed are no longer visible to it under the old values.
#define CONTRADICTS(r) (is_pending[r] && (is_first || owner[r] > 0 || sequence[r] != SEQUENCE_OF(to)) && lock[r] != MAINTENANCE \
                        && (sequence[r] != NONE || to == batch))

#define IS_FREE(r) (!is_pending[r] || owner[r] == 0 || lock[r] == 0)

// lock_routing, change_order, update_handler and COMMIT.
proctype Operator() {
  byte r;
  mtype to;
  bool is_first, has_changed, is_right, seen[ROWS];
  do
  :: changes == 0 -> break
  :: else ->
     atomic {
       !is_routing_held && routing_shares == 0 -> is_routing_held = true;
       changes--;
       if :: mode != single -> to = single :: mode != batch -> to = batch :: mode != sequential -> to = sequential fi;
       printf("operator: begins to change the mode\n")
     }
#ifndef BROKEN_ONE_SNAPSHOT
     // await_settlements: the sequence, then all leased rows or none.
     atomic { sequence_lock == 0 && sequence_shares == 0 -> sequence_lock = MAINTENANCE }
     atomic {
       IS_FREE(0) && IS_FREE(1) && IS_FREE(2) && IS_FREE(3) ->
       for (r : 0 .. ROWS - 1) {
         if :: is_pending[r] && owner[r] > 0 -> lock[r] = MAINTENANCE :: else fi
       }
       r = 0
     }
#endif
     is_first = true;
     do
     :: atomic {                        // a statement's snapshot
          has_changed = false;
          for (r : 0 .. ROWS - 1) { seen[r] = CONTRADICTS(r) || (is_first && lock[r] == MAINTENANCE) }
          r = 0
        }
        do
        :: r == ROWS -> break
        :: else ->
           atomic {                     // its lock on each row, and the condition again
             !seen[r] || lock[r] == 0 || lock[r] == MAINTENANCE ->
             if
             :: seen[r] && (CONTRADICTS(r) || lock[r] == MAINTENANCE) -> lock[r] = MAINTENANCE; has_changed = true
             :: else
             fi;
             seen[r] = false;
             r++
           }
        od;
        r = 0;
#ifdef BROKEN_ONE_SNAPSHOT
        break
#elif defined(BROKEN_COUNT)
        // Until a statement has changed nothing: a row that it found may have been settled and retried meanwhile.
        if :: !is_first && !has_changed -> break :: else -> is_first = false fi
#else
        is_first = false;
        // Until the snapshot of another statement has no row that contradicts.
        atomic {
          is_right = true;
          for (r : 0 .. ROWS - 1) { is_right = is_right && !CONTRADICTS(r) }
          r = 0
        }
        if :: is_right -> break :: else fi
#endif
     od;
     atomic {                           // COMMIT
       for (r : 0 .. ROWS - 1) {
         if
         :: lock[r] == MAINTENANCE ->
            lock[r] = 0;
            if
            :: sequence[r] != NONE || to == batch -> sequence[r] = SEQUENCE_OF(to); owner[r] = 0
            :: else
            fi
         :: else
         fi
       }
       r = 0;
       mode = to; version++; has_owner = false; sequence_lock = 0; is_routing_held = false; is_first = false;
       printf("operator: has changed the mode\n");
       check()
     }
  od
}

init {
  atomic {
    if :: mode = single :: mode = sequential :: mode = batch fi;
#ifdef BROKEN_ONE_SNAPSHOT
    insert(SEQUENCE_OF(mode), 1);       // no claim splits it: its settlement adds a row
#else
    insert(SEQUENCE_OF(mode), 2);
#endif
    run Ingester(); run Instance(1); run Instance(2); run Operator()
  }
}
