// Mode single: claim, lease, fence, renewal, release and settlement of deliveries, by instances that may be zombies.
//
// READ COMMITTED: a statement finds rows in its snapshot, then locks them, waiting or passing over locked rows, and
// checks its conditions again on the present version. Each of these is a step. Changes are visible at COMMIT: a session
// keeps them to itself and holds the row's lock. Design rules 2, 3, 4, 9, 10 and 14.

#define INSTANCES 2
#ifdef LARGE
#define EXPIRIES 2
#define RETRIES 2
#else
#define EXPIRIES 1
#define RETRIES 1
#endif
#define BOTH 3                          // events 1 and 2, as bits
#define ROWS (2 + RETRIES)

// Table delivery. A row is used once: delivery_id comes from a sequence.
byte rows;
byte pending[ROWS];                     // 0: no row
byte owner[ROWS];                       // instance + 1; 0: not leased
byte fence[ROWS];
byte attempts[ROWS];
bool is_due[ROWS];                      // its due_at, or the end of its lease, has passed
byte lock[ROWS];                        // instance + 1

byte outcomes[3], failures[3];          // by event; 0: unused
byte expiries = EXPIRIES, retries = RETRIES, releases = 1, losses = 1;

// Of the calls: the events, the fence in memory, and whether the lease has ended in the database or was taken.
byte called[INSTANCES], held[INSTANCES];
bool has_ended[INSTANCES], is_taken[INSTANCES];

byte i_;
#define IS_OVER (outcomes[1] + outcomes[2] == 2)
#define HAS(set, event) ((set & event) > 0)
#define IS_MINE(r) (fence[r] == held[me] && owner[r] == me + 1)

inline insert(set, tries, due) {
  pending[rows] = set; attempts[rows] = tries; is_due[rows] = due;
  rows++
}

#define IS_DRAWN(n) (fence[0] == n || fence[1] == n || fence[2] == n || fence[ROWS - 1] == n || held[1 - me] == n)

// The row as the statement's snapshot has it, and then as it is once the row is locked.
#ifdef BROKEN_LEASE
#define IS_CLAIMABLE(r) (pending[r] > 0)
#else
#define IS_CLAIMABLE(r) (pending[r] > 0 && is_due[r])
#endif
#ifdef BROKEN_FENCE
#define MAY_SETTLE(r) ((pending[r] & mine) == mine)
#else
#define MAY_SETTLE(r) (IS_MINE(r) && (pending[r] & mine) == mine)
#endif

// A random number: one that neither a row nor an instance has.
inline draw(n) {
  if
  :: held[me] == n && IS_DRAWN(n) -> held[me] = n + 1
  :: else
  fi
}

inline claim() {
  atomic {                              // the statement's snapshot
    if
    :: IS_CLAIMABLE(0) -> r = 0
    :: IS_CLAIMABLE(1) -> r = 1
    :: IS_CLAIMABLE(2) -> r = 2
#ifdef LARGE
    :: IS_CLAIMABLE(3) -> r = 3
#endif
    fi
  }
  atomic {                              // for update skip locked
    if
    :: lock[r] == 0 && IS_CLAIMABLE(r) -> lock[r] = me + 1; is_locked = true
#ifdef BROKEN_RECHECK
    :: lock[r] == 0 && pending[r] > 0 && !IS_CLAIMABLE(r) -> lock[r] = me + 1; is_locked = true
#endif
    :: else
    fi
  }
  if
  :: is_locked ->
     atomic {                           // the update, an insert if the row is split, and COMMIT
       held[me] = 1; draw(1); draw(2); draw(3); draw(4);
       for (i_ : 0 .. INSTANCES - 1) {
         if
         :: i_ != me && owner[r] == i_ + 1 && HAS(called[i_], pending[r]) -> is_taken[i_] = true
         :: else
         fi
       }
       i_ = 0;
       mine = pending[r];
       if
       :: mine == BOTH -> pending[r] = 1; insert(2, attempts[r], true); mine = 1
       :: true
       fi;
       owner[r] = me + 1; fence[r] = held[me]; is_due[r] = false; lock[r] = 0; is_locked = false;
       printf("instance %d: claims events %d of delivery %d under fence %d\n", me, mine, r, held[me]);
       // No call under a lease that has not ended has the event.
       for (i_ : 0 .. INSTANCES - 1) {
         assert(i_ == me || has_ended[i_] || !HAS(called[i_], mine))
       }
       i_ = 0;
       assert(!HAS(mine, 1) || attempts[r] == failures[1]);
       assert(!HAS(mine, 2) || attempts[r] == failures[2]);
       has_ended[me] = false; is_taken[me] = false; called[me] = mine
     }
  :: else
  fi
}

// inbox.settle: the events of the call are done, or fail and are retried.
inline settle() {
  atomic { mine = called[me]; called[me] = 0 }
  do
  :: mine == 0 -> break
  :: else ->
     is_locked = MAY_SETTLE(r);         // the snapshot
     if
     :: is_locked ->
        atomic {                        // for update, and the conditions again
          lock[r] == 0 ->
          is_locked = MAY_SETTLE(r);
          lock[r] = (is_locked -> me + 1 : 0)
        }
     :: else
     fi;
     atomic {                           // COMMIT
       if
       :: is_locked ->
          // A zombie's work is rolled back.
          assert(!is_taken[me]);
          if
          :: true ->
             outcomes[1] = outcomes[1] + (mine & 1); outcomes[2] = outcomes[2] + (mine >> 1);
             printf("instance %d: events %d of delivery %d are done\n", me, mine, r)
          :: retries > 0 ->
             retries--;
             failures[1] = failures[1] + (mine & 1); failures[2] = failures[2] + (mine >> 1);
             insert(mine, attempts[r] + 1, true);
             printf("instance %d: events %d of delivery %d are retried\n", me, mine, r)
          fi;
          assert(outcomes[1] <= 1 && outcomes[2] <= 1);
          pending[r] = pending[r] & (BOTH - mine); lock[r] = 0; is_locked = false;
          if
          :: pending[r] == 0 -> owner[r] = 0; fence[r] = 0; attempts[r] = 0; is_due[r] = false
          :: else
          fi;
          if
          :: losses > 0 -> losses--; printf("instance %d: has no answer, and settles again\n", me)
          :: true -> mine = 0
          fi
       :: else -> mine = 0; printf("instance %d: has lost delivery %d\n", me, r)
       fi
     }
  od
}

// release_leases: it waits for the row's lock.
inline release() {
  atomic {
    releases > 0 && lock[r] == 0 ->
    releases--;
#ifdef BROKEN_RELEASE
    if :: pending[r] > 0 ->
#else
    if :: pending[r] > 0 && IS_MINE(r) ->
#endif
       for (i_ : 0 .. INSTANCES - 1) { is_taken[i_] = is_taken[i_] || (i_ != me && owner[r] == i_ + 1) }
       i_ = 0;
       owner[r] = 0; fence[r] = 0; is_due[r] = true
    :: else
    fi;
    called[me] = 0;
    printf("instance %d: releases delivery %d\n", me, r)
  }
}

proctype Instance(byte me) {
  byte r, mine;
  bool is_locked;
  do
  :: IS_OVER -> break
  :: claim();
     if
     :: called[me] > 0 ->
        do
        :: settle(); break
        :: release(); break
        // renew, by name, SKIP LOCKED
        :: d_step { lock[r] == 0 && pending[r] > 0 && IS_MINE(r) && is_due[r] ->
             is_due[r] = false; has_ended[me] = false; printf("instance %d: renews delivery %d\n", me, r) }
        :: atomic { losses > 0 -> losses--; called[me] = 0; printf("instance %d: crashes\n", me) } break
        od
     :: else
     fi;
     atomic { r = 0; mine = 0; held[me] = 0 }
  od
}

#define IS_HELD(r) (fence[r] == held[0] || fence[r] == held[1])
#define MAY_END(r) (owner[r] > 0 && (expiries > 0 || !IS_HELD(r)))

// Leases end: at any time for a while, and in the end for owners that do not call.
proctype Clock() {
  byte r;
  do
  :: IS_OVER -> break
  :: d_step {
       if
       :: pending[0] > 0 && !is_due[0] && MAY_END(0) -> r = 0
       :: pending[1] > 0 && !is_due[1] && MAY_END(1) -> r = 1
       :: pending[2] > 0 && !is_due[2] && MAY_END(2) -> r = 2
#ifdef LARGE
       :: pending[3] > 0 && !is_due[3] && MAY_END(3) -> r = 3
#endif
       fi;
       if
       :: IS_HELD(r) -> expiries--; has_ended[owner[r] - 1] = true
       :: else
       fi;
       is_due[r] = true;
       printf("clock: the lease of delivery %d ends\n", r); r = 0 }
  od
}

init {
  atomic {
    insert(BOTH, 0, true);
    run Clock();
    for (i_ : 0 .. INSTANCES - 1) { run Instance(i_) }
    i_ = 0
  }
}

#ifdef LIVENESS
ltl all_settled { <> IS_OVER }
#endif
