// Mode sequential: the database server is started again or replaced, and may lose commits. Renewal and change of fences.
//
// A session's first statement on another server changes the fences of its process (KnownServer, change_fences.sql). The
// owner of a sequence renews its lease by its owner alone, drains it once it finds another fence, and takes it again. A
// statement without an answer runs again; if it settled nothing then, its run is lost. Each statement is a step, its
// answer another; the locks within statements are in order.pml.

#define EVENTS 2                        // of one key
#define INSTANCES 2
#ifdef LARGE
#define CHANGES 2
#else
#define CHANGES 1
#endif

byte server;                            // its number
byte drawn;                             // a fence

// Table sequence.
byte owner, fence;
bool has_ended;                         // its lease
// Table delivery, a row for each event.
bool is_done[EVENTS + 1];
byte holder[EVENTS + 1], row_fence[EVENTS + 1]; // if it is done: as it was before

// Memory of the instances, by instance and event.
#define AT(e) (me * (EVENTS + 1) + e)
#define SIZE ((INSTANCES + 1) * (EVENTS + 1))
byte known[INSTANCES + 1];              // server
byte my_fence[INSTANCES + 1];           // of the sequence; 0: not owned
byte changed_fence[INSTANCES + 1];      // the present one, to release it under
bool is_draining[INSTANCES + 1], is_refused[INSTANCES + 1]; // its renewal
byte mark[INSTANCES + 1];               // events up to it were read
byte my_row_fence[SIZE];                // of an event in memory; 0: it is not there
byte calls[INSTANCES + 1];              // the event in a call

bool was_done[EVENTS + 1];              // ever, also if the commit is lost later
// The lease has ended although the owner renews it: it was suspended, say.
bool was_cut[INSTANCES + 1];
byte changes = CHANGES, expiries = 1, i_;

#define IS_OVER (is_done[1] && is_done[EVENTS] && changes == 0)
#define IS_EMPTY (my_row_fence[AT(1)] == 0 && my_row_fence[AT(EVENTS)] == 0 && calls[me] == 0)
#define IS_LEASED(e, f) (!is_done[e] && holder[e] == me && row_fence[e] == f)
#define IS_MINE(e) IS_LEASED(e, my_row_fence[AT(e)])
#define IS_FREE(e) (!is_done[e] && holder[e] == 0)
#define MAY_CLAIM (my_fence[me] > 0 && !is_draining[me])
// Renewal finds something new.
#define HAS_NEWS (known[me] != server || owner != me || has_ended || fence != changed_fence[me])

// A random number: one that nothing has.
#define IS_KNOWN(n) (fence == n || my_fence[1] == n || my_fence[2] == n || changed_fence[1] == n || \
  changed_fence[2] == n || row_fence[1] == n || row_fence[EVENTS] == n || my_row_fence[4] == n || \
  my_row_fence[5] == n || my_row_fence[7] == n || my_row_fence[8] == n)
inline draw() {
  drawn = 1;
  do :: IS_KNOWN(drawn) -> drawn++ :: else -> break od
}

// change_fences
inline meet_server() {
  if
  :: known[me] != server ->
     known[me] = server;
#ifndef BROKEN_FENCES
     if
     :: owner == me ->
        draw(); fence = drawn;
#ifndef BROKEN_ROW_FENCES
        draw();
        for (i_ : 1 .. EVENTS) { row_fence[i_] = (holder[i_] == me -> drawn : row_fence[i_]) }
        i_ = 0;
#endif
        drawn = 0
     :: else
     fi;
#endif
     printf("instance %d: meets another server\n", me)
  :: else
  fi
}

inline forget() {
  my_fence[me] = 0; changed_fence[me] = 0; is_draining[me] = false; is_refused[me] = false; mark[me] = 0;
  was_cut[me] = false
}

proctype Claimer(byte me) {
  byte c, got, sent;
  do
  :: IS_OVER -> break
  // take_sequences
  :: atomic {
       my_fence[me] == 0 && IS_EMPTY && (owner == 0 || owner == me || has_ended) ->
       meet_server();
       draw(); fence = drawn; drawn = 0; owner = me; has_ended = false; my_fence[me] = fence; changed_fence[me] = fence;
       for (i_ : 1 .. EVENTS) { holder[i_] = 0; row_fence[i_] = 0 }
       i_ = 0;
       printf("instance %d: takes the sequence\n", me)
     }
  // claim_in_order: leased rows up to the mark are in memory, another leased row ends the reading.
  :: atomic {
       if
       :: MAY_CLAIM && IS_FREE(1) -> c = 1
       :: MAY_CLAIM && IS_FREE(EVENTS) && (is_done[1] || (holder[1] == me && mark[me] >= 1)) -> c = EVENTS
       fi;
       meet_server();
       sent = server;
       if
       :: owner == me && fence == my_fence[me] -> draw(); holder[c] = me; row_fence[c] = drawn; got = drawn; drawn = 0
       :: else -> c = 0; is_draining[me] = true
       fi
     }
     atomic {
       if
       :: c > 0 && sent == server ->
          my_row_fence[AT(c)] = got; mark[me] = c;
          printf("instance %d: claims event %d\n", me, c)
       :: c > 0 && sent != server ->    // release_claims
          printf("instance %d: has no answer to its claim of event %d\n", me, c);
          meet_server();
          if :: IS_LEASED(c, got) -> holder[c] = 0; row_fence[c] = 0 :: else fi
       :: else
       fi;
       c = 0; got = 0; sent = 0
     }
  // renew_sequences: whether or not the fence is another
  :: atomic {
       my_fence[me] > 0 && !is_refused[me] && HAS_NEWS ->
       meet_server();
#ifdef BROKEN_RENEWAL
       if :: owner == me && fence == my_fence[me] ->
#else
       if :: owner == me ->
#endif
          has_ended = false; was_cut[me] = false;
          changed_fence[me] = fence;
#ifndef BROKEN_DRAIN
          is_draining[me] = is_draining[me] || fence != my_fence[me];
#else
          my_fence[me] = fence;
#endif
          printf("instance %d: renews the sequence\n", me)
       :: else -> is_draining[me] = true; is_refused[me] = true; printf("instance %d: is refused\n", me)
       fi
     }
  // release_leases
  :: atomic {
       if
       :: is_draining[me] && my_row_fence[AT(1)] > 0 && calls[me] != 1 -> c = 1
       :: is_draining[me] && my_row_fence[AT(EVENTS)] > 0 && calls[me] != EVENTS -> c = EVENTS
       fi;
       meet_server();
       if :: IS_MINE(c) -> holder[c] = 0; row_fence[c] = 0 :: else fi;
       my_row_fence[AT(c)] = 0; c = 0
     }
  // release_sequences
  :: atomic {
       is_draining[me] && IS_EMPTY ->
       meet_server();
       if :: owner == me && fence == changed_fence[me] -> owner = 0; fence = 0; has_ended = false :: else fi;
       forget();
       printf("instance %d: releases the sequence\n", me)
     }
  od
}

// Whether the lease has ended by the instance's clock, which is no later than by the server's.
#define HAS_LEASE (!was_cut[me] && (owner != me || !has_ended))
#define MAY_CALL (my_fence[me] > 0 && !is_draining[me] && HAS_LEASE)

proctype Worker(byte me) {
  byte e, sent;
  bool is_settled, is_waiting, was_in_doubt;
  do
  :: IS_OVER -> break
  :: atomic {
       if
       :: MAY_CALL && my_row_fence[AT(1)] > 0 -> e = 1
       :: MAY_CALL && my_row_fence[AT(1)] == 0 && my_row_fence[AT(EVENTS)] > 0 -> e = EVENTS
       fi;
       printf("instance %d: calls event %d\n", me, e);
       assert(e == 1 || was_done[1]);
       assert(calls[3 - me] == 0 || was_cut[3 - me]);
       calls[me] = e
     }
     // settle_done, again until there is an answer
     do
     :: atomic {
          meet_server(); sent = server;
          if
          :: IS_MINE(e) ->              // COMMIT
             assert(e == 1 || is_done[1]);
             is_done[e] = true; was_done[e] = true; is_settled = true;
             printf("instance %d: event %d is done\n", me, e)
          :: !IS_MINE(e) -> is_settled = false
          :: changes > 0 -> is_waiting = true         // the server ends before it commits
          fi
        }
        atomic {
          !is_waiting || sent != server ->
          is_waiting = false;
          if
          :: sent == server -> break
          :: else ->
             is_settled = false; was_in_doubt = true;
             printf("instance %d: has no answer, and settles event %d again\n", me, e)
          fi
        }
     od;
     atomic {
#ifdef BROKEN_DOUBT
       is_settled = is_settled || was_in_doubt;
#endif
       if
       :: !is_settled -> is_draining[me] = my_fence[me] > 0; printf("instance %d: has lost event %d\n", me, e)
       :: else
       fi;
       my_row_fence[AT(e)] = 0; calls[me] = 0; e = 0; sent = 0; is_settled = false; was_in_doubt = false
     }
  od
}

// A restart loses no commit. A failover loses settlements since the sequence was taken, and perhaps a claim after that.
proctype Server() {
  do
  :: changes == 0 -> break
  :: atomic { changes > 0 -> changes--; server++; printf("server: is started again\n") }
  :: atomic { changes > 0 && is_done[1] && holder[1] > 0 ->
       changes--; server++; is_done[1] = false; is_done[EVENTS] = false;
       if :: holder[EVENTS] = 0; row_fence[EVENTS] = 0 :: true fi;
       printf("server: a standby without the settlements is the server now\n") }
  :: atomic { changes > 0 && is_done[EVENTS] && holder[EVENTS] > 0 ->
       changes--; server++; is_done[EVENTS] = false;
       printf("server: a standby without the last settlement is the server now\n") }
  od
}

// The lease of a suspended owner ends, and that of an owner that does not renew it.
proctype Clock() {
  do
  :: IS_OVER -> break
  :: atomic { owner > 0 && !has_ended && expiries > 0 && my_fence[owner] > 0 ->
       expiries--; has_ended = true; was_cut[owner] = true; printf("clock: the lease of the sequence ends\n") }
  :: atomic { owner > 0 && !has_ended && (my_fence[owner] == 0 || is_refused[owner]) ->
       has_ended = true; printf("clock: nobody has renewed the lease of the sequence\n") }
  od
}

init {
  atomic {
    owner = 1; fence = 1; my_fence[1] = 1; changed_fence[1] = 1;
    run Claimer(1); run Worker(1); run Claimer(2); run Worker(2); run Server(); run Clock()
  }
}
