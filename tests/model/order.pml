// Mode sequential: sequence, lanes, replay and release. The events of a key run in order, whatever fails.
//
// Instance and database are apart: an instance carries on with what it has in memory after it has lost its sequence.
// Statements are steps as in claim.pml. Design rules 14, 16 and 18; the exception of a replay is in README.md.

#ifdef LARGE
#define EVENTS 3
#define RELEASES 1
#else
#define EVENTS 2
#define RELEASES 0
#endif
#define INSTANCES 2
#define REPLAY 9                        // the session of a replay, as a lock's holder

mtype = { log, lane, dead, done };      // where an event is

// Table sequence.
byte owner;
bool has_ended;                         // its lease
// Table delivery, a row for each event; the key is the same. A failed event gets a new row in the lane.
mtype place[EVENTS + 1] = log;
byte holder[EVENTS + 1];                // the lease's owner
bool is_due[EVENTS + 1];                // of a lane's row
bool has_failed[EVENTS + 1];            // its attempts
bool was_back[EVENTS + 1];              // never_expires: a replay has put it into the lane

// Locks. `for no key update` and `for key share` of the sequence do not exclude each other, `for update` excludes both.
bool is_routing_held;
byte routing_shares, sequence_lock;
byte lock[EVENTS + 1];

// Memory of the instances, by instance and event.
#define AT(e) (me * (EVENTS + 1) + e)
#define SIZE ((INSTANCES + 1) * (EVENTS + 1))
bool owns[INSTANCES + 1], is_draining[INSTANCES + 1], knows_lanes[INSTANCES + 1], is_blocked[INSTANCES + 1];
bool is_loaded[SIZE];
// Fences are random. So an instance's fence is the row's until the row gets another, and then never again.
bool has_fence[INSTANCES + 1], has_lease[SIZE];
bool was_replayed[INSTANCES + 1];       // while a claim runs
bool is_of_lane[SIZE];
bool is_working[INSTANCES + 1];         // a worker has taken an event
byte check[INSTANCES + 1];              // of the lane: 1 runs, 2 the key has changed since, KeyOrder's `changes`

// An event that was in memory, or was being claimed, when an earlier event was replayed: it may run before that event.
bool is_exempt[EVENTS + 1];

byte failures = 1, deaths = 1, replays = 1, expiries = 1, releases = RELEASES, crashes = RELEASES, i_;

#define HAS_OUTCOME(e) (place[e] == done || place[e] == dead)
#define ENDS (HAS_OUTCOME(1) && HAS_OUTCOME(2) && HAS_OUTCOME(EVENTS))
#define IS_OVER (ENDS && replays == 0)

// All earlier events of the key have an outcome.
inline check_turn(e) {
  for (i_ : 1 .. e - 1) { assert(HAS_OUTCOME(i_) || is_exempt[e]) }
  i_ = 0
}

// inbox.advance_lanes: the first row of the lane is due, if it was waiting.
inline advance_lane() {
  i_ = 1;
  do
  :: i_ > EVENTS -> break
  :: i_ <= EVENTS && place[i_] == lane -> is_due[i_] = is_due[i_] || holder[i_] == 0; break
  :: else -> i_++
  od;
  i_ = 0
}

inline end_lease(e) {
  holder[e] = 0; has_lease[e + EVENTS + 1] = false; has_lease[e + 2 * EVENTS + 2] = false
}

inline unload(e) { is_loaded[AT(e)] = false; has_lease[AT(e)] = false; is_of_lane[AT(e)] = false }

inline forget() {
  for (i_ : 1 .. EVENTS) { unload(i_) }
  i_ = 0; owns[me] = false; is_draining[me] = false; knows_lanes[me] = false; is_blocked[me] = false;
  has_fence[me] = false
}

#define IS_MINE(e) (holder[e] == me && has_lease[AT(e)])
#define IS_EMPTY (!is_loaded[AT(1)] && !is_loaded[AT(2)] && !is_loaded[AT(EVENTS)])
#ifdef BROKEN_SEQUENCE
#define IS_OWNER true
#else
#define IS_OWNER (owner == me && has_fence[me])
#endif
#define IS_FIRST_OF_LANE(e) ((e < 2 || place[1] != lane) && (e < 3 || place[2] != lane))
#define IS_FREE(e) (holder[e] == 0 && lock[e] == 0)
#define IS_LANE(e) (place[e] == lane && is_due[e] && IS_FREE(e))
#define IS_LOG(e) (place[e] == log && IS_FREE(e))
#define IS_STOP(e) (place[e] == log && (IS_FREE(e) || !is_loaded[AT(e)])) // before it, or not in memory
#define IS_UNLOCKED(e) (lock[e] == 0)

// join_lane: the first row of a lane takes the next waiting row along. An event is a row here, so both are leased.
#ifdef BROKEN_JOIN
#define IS_FRESH(e) (!has_failed[e])
#else
#define IS_FRESH(e) (!has_failed[e] && !was_back[e])
#endif
#define JOINS(e, n) (IS_FRESH(e) && IS_FRESH(n) && place[n] == lane && !is_due[n] && IS_FREE(n))

proctype Claimer(byte me) {
  byte e, c, joined;
  bool may_claim, was_blocked;
  do
  :: IS_OVER -> break
  // take_sequences: the exclusive routing lock, then the sequence and its leased rows, as await_settlements.
  :: atomic {
       !owns[me] && IS_EMPTY && (owner == 0 || owner == me || has_ended) && !is_routing_held && routing_shares == 0 &&
       sequence_lock == 0 && IS_UNLOCKED(1) && IS_UNLOCKED(2) && IS_UNLOCKED(EVENTS) ->
       owner = me; has_fence[3 - me] = false; has_fence[me] = true; has_ended = false;
       for (e : 1 .. EVENTS) {
         if :: holder[e] > 0 -> is_due[e] = place[e] == lane; end_lease(e) :: else fi
       }
       e = 0;
       owns[me] = true;
       printf("instance %d: takes the sequence\n", me)
     }
  // read_lanes
  :: atomic { owns[me] && !is_draining[me] && !knows_lanes[me] ->
       knows_lanes[me] = true;
       for (e : 1 .. EVENTS) { is_blocked[me] = is_blocked[me] || place[e] == lane }
       e = 0 }
  // claim_in_order: the shared routing lock; the owned sequences; rows of lanes and of the log; COMMIT.
  :: atomic { owns[me] && !is_draining[me] && knows_lanes[me] && !is_routing_held -> routing_shares++ }
     atomic { may_claim = IS_OWNER; was_replayed[me] = false }
     if
     :: may_claim ->
        // With room for a single event: a row of a lane, or the next row of the log. SKIP LOCKED.
        atomic {
          if
          :: IS_LANE(1) -> c = 1
          :: IS_LANE(2) -> c = 2
          :: IS_LANE(EVENTS) -> c = EVENTS
          :: IS_LOG(1) -> c = 1
          :: !IS_STOP(1) && IS_LOG(2) -> c = 2
          :: !IS_STOP(1) && !IS_STOP(2) && IS_LOG(EVENTS) -> c = EVENTS
          :: else -> c = 0
          fi;
          if :: c > 0 -> lock[c] = me :: else fi
        }
        atomic {                        // another statement: a row of a lane has to be its first
          if
          :: c > 0 && place[c] == lane && !IS_FIRST_OF_LANE(c) -> lock[c] = 0; c = 0
          :: else
          fi;
          // The rows between them have left the lane.
          if
          :: c == 1 && place[c] == lane && JOINS(1, 2) -> joined = 2
          :: c == 1 && place[c] == lane && place[2] != lane && JOINS(1, EVENTS) -> joined = EVENTS
          :: c == 2 && place[c] == lane && c < EVENTS && JOINS(2, EVENTS) -> joined = EVENTS
          :: else
          fi;
          if :: joined > 0 -> lock[joined] = me :: else fi
        }
     :: else -> is_draining[me] = true
     fi;
     atomic {
       if
       :: c > 0 ->
          end_lease(c); holder[c] = me; is_due[c] = false; lock[c] = 0;
          is_loaded[AT(c)] = true; has_lease[AT(c)] = true; is_of_lane[AT(c)] = place[c] == lane;
          is_blocked[me] = is_blocked[me] || place[c] == lane;
          is_exempt[c] = is_exempt[c] || (place[c] == log && was_replayed[me]);
          printf("instance %d: claims event %d\n", me, c)
       :: else
       fi;
       if
       :: joined > 0 ->
          holder[joined] = me; lock[joined] = 0;
          is_loaded[AT(joined)] = true; has_lease[AT(joined)] = true; is_of_lane[AT(joined)] = true;
          printf("instance %d: joins event %d\n", me, joined); joined = 0
       :: else
       fi;
       c = 0; may_claim = false; was_replayed[me] = false; routing_shares--
     }
  // CheckLanes: the lanes, then by another statement whether the sequence is still owned.
  :: atomic { owns[me] && !is_draining[me] && is_blocked[me] && !is_working[me] ->
       check[me] = 1;
       was_blocked = place[1] == lane || place[2] == lane || place[EVENTS] == lane }
     atomic {
       if
       :: !was_blocked && !is_working[me] && check[me] == 1 && owner == me && has_fence[me] -> is_blocked[me] = false
       :: else
       fi;
       was_blocked = false; check[me] = 0
     }
  // find_lost_sequences, or another instance wants the sequence: what is not called leaves memory.
  :: atomic { owns[me] && !is_draining[me] && (owner != me || !has_fence[me]) -> is_draining[me] = true }
  :: atomic { owns[me] && !is_draining[me] && releases > 0 -> releases--; is_draining[me] = true;
       printf("instance %d: drains\n", me) }
  // release_leases
  :: atomic {
       if
       :: is_draining[me] && !is_working[me] && is_loaded[AT(1)] && lock[1] == 0 -> e = 1
       :: is_draining[me] && !is_working[me] && is_loaded[AT(2)] && lock[2] == 0 -> e = 2
       :: is_draining[me] && !is_working[me] && is_loaded[AT(EVENTS)] && lock[EVENTS] == 0 -> e = EVENTS
       fi;
       if :: IS_MINE(e) -> end_lease(e); is_due[e] = place[e] == lane :: else fi;
       unload(e);
       printf("instance %d: releases event %d\n", me, e); e = 0
     }
  // release_sequences
  :: atomic { is_draining[me] && !is_working[me] && IS_EMPTY && sequence_lock == 0 ->
       if :: owner == me && has_fence[me] -> owner = 0; has_ended = false :: else fi;
       forget(); printf("instance %d: releases the sequence\n", me) }
  :: atomic { crashes > 0 && owns[me] && !is_working[me] -> crashes--; forget(); printf("instance %d: crashes\n", me) }
  od
}

// The lowest loaded event: KeyOrder.
#define IS_HEAD(e) (is_loaded[AT(e)] && (e < 2 || !is_loaded[AT(1)]) && (e < 3 || !is_loaded[AT(2)]))

proctype Worker(byte me) {
  byte e, r;
  bool is_mine;
  mtype verdict;
  do
  :: IS_OVER -> break
  :: atomic {
       if
       :: owns[me] && !is_draining[me] && IS_HEAD(1) -> e = 1
       :: owns[me] && !is_draining[me] && IS_HEAD(2) -> e = 2
       :: owns[me] && !is_draining[me] && IS_HEAD(EVENTS) -> e = EVENTS
       fi;
       is_working[me] = true; check[me] = (check[me] == 1 -> 2 : check[me]);
       if
       :: is_blocked[me] && !is_of_lane[AT(e)] -> verdict = log    // not called: it waits behind its lane
       :: else ->
          printf("instance %d: calls event %d\n", me, e);
          // By the owner. A zombie may begin calls, and settles none.
          if :: owner == me && IS_MINE(e) -> check_turn(e) :: else fi;
          if
          :: true -> verdict = done
          :: failures > 0 -> failures--; verdict = lane
          :: deaths > 0 -> deaths--; verdict = dead
          fi
       fi
     }
     // settle_done takes no lock of the sequence; settle locks it `for no key update`.
     if
     :: verdict == done && !is_of_lane[AT(e)] -> is_mine = true
     :: else -> atomic { sequence_lock == 0 -> sequence_lock = me; is_mine = owner == me }
     fi;
     atomic {
       lock[e] == 0 ->
       is_mine = is_mine && IS_MINE(e);
       lock[e] = (is_mine -> me : 0)
     }
     atomic {
       if
       :: is_mine ->
          if
          :: verdict == log -> place[e] = lane; is_due[e] = false;
             printf("instance %d: event %d waits in its lane\n", me, e)
          :: verdict == lane -> place[e] = lane; is_due[e] = true; is_blocked[me] = true; has_failed[e] = true;
             for (r : 1 .. EVENTS) { is_of_lane[AT(r)] = false }  // later events of the run wait again
             r = 0;
             printf("instance %d: event %d fails, and begins a lane or stays its first\n", me, e)
          :: verdict == dead -> place[e] = dead; printf("instance %d: event %d is dead\n", me, e)
          :: verdict == done -> check_turn(e); place[e] = done; printf("instance %d: event %d is done\n", me, e)
          fi;
          end_lease(e); lock[e] = 0;
          if :: sequence_lock == me -> advance_lane() :: else fi
       :: else -> is_draining[me] = owns[me]; printf("instance %d: has lost event %d\n", me, e)
       fi;
       if :: sequence_lock == me -> sequence_lock = 0 :: else fi;
       unload(e); is_mine = false;
       is_working[me] = false; e = 0; verdict = 0
     }
  od
}

// share_routing, then inbox.replay_dead.
proctype Replay() {
  byte e, r;
  bool was_leased[EVENTS + 1];
  do
  :: replays == 0 -> break
  :: atomic {
       !is_routing_held &&
       (place[1] == dead || place[2] == dead || place[EVENTS] == dead || (ENDS && deaths > 0)) -> routing_shares++ }
     if
     :: atomic {
          if :: place[1] == dead -> e = 1 :: place[2] == dead -> e = 2 :: place[EVENTS] == dead -> e = EVENTS fi
        }
        atomic { sequence_lock == 0 -> sequence_lock = REPLAY }
        // The first row of the lane, and leased rows of it.
        atomic {
          for (r : 1 .. EVENTS) {
            was_leased[r] = place[r] == lane && (holder[r] > 0 || lock[r] > 0 || IS_FIRST_OF_LANE(r)) }
          r = 0
        }
        atomic {
          (!was_leased[1] || lock[1] == 0) && (!was_leased[2] || lock[2] == 0) &&
          (!was_leased[EVENTS] || lock[EVENTS] == 0) ->
          for (r : 1 .. EVENTS) {
            was_leased[r] = was_leased[r] && place[r] == lane;
            lock[r] = (was_leased[r] -> REPLAY : lock[r])
          }
          r = 0
        }
        atomic {
          for (r : 1 .. EVENTS) {
            if
            :: was_leased[r] ->
               lock[r] = 0; was_leased[r] = false;
#ifndef BROKEN_REPLAY
               if :: r > e -> end_lease(r); is_due[r] = false :: else fi
#endif
            :: else
            fi;
            is_exempt[r] = is_exempt[r] || (r > e && place[r] == log && (holder[r] > 0 || lock[r] > 0))
          }
          r = 0;
#ifndef BROKEN_REPLAY_FENCE
          has_fence[1] = false; has_fence[2] = false;
#endif
          was_replayed[1] = true; was_replayed[2] = true;
          place[e] = lane; is_due[e] = false; was_back[e] = true; has_failed[e] = false;
          advance_lane();
          replays--; sequence_lock = 0; routing_shares--;
          printf("operator: replays event %d\n", e); e = 0
        }
     :: else -> atomic { replays = 0; routing_shares-- }
     fi
  od
}

proctype Clock() {
  do
  :: IS_OVER -> break
  :: atomic { owner > 0 && !has_ended && (expiries > 0 || !owns[owner]) ->
       expiries = (owns[owner] -> expiries - 1 : expiries);
       has_ended = true; printf("clock: the lease of the sequence ends\n") }
  od
}

init {
  atomic {
    run Claimer(1); run Worker(1); run Claimer(2); run Worker(2); run Replay(); run Clock()
  }
}
