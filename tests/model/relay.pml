// The relay: sessions publish into the outbox, two owners of a lease send the messages to Kafka and delete them.
//
// Ids are drawn from a sequence and committed in another order, so a read finds gaps. A gap may be filled as long as a
// transaction runs that is older than a transaction which began after the read. Design section 7, rules 2 and 10.

#define SESSIONS 2
#define OWNERS 2
#define LAST 3                          // the highest id
#ifdef LARGE
#define LOSSES 2
#else
#define LOSSES 1
#endif
#define NEVER 99

// Table outbox, by id.
mtype = { unused, open, committed, gone };
mtype state[LAST + 1];
byte session_of[LAST + 1];
byte ids = 1, xids = 1;
byte open_xid[SESSIONS];                // of the running transaction; 0: none

// Table relay.
byte owner;                             // 0: none
bool has_ended;                         // its lease
byte low_water = 1;

// Kafka.
bool is_sent[LAST + 1];

byte losses = LOSSES, left = LAST, i_;

#define OLDEST_OF(a, b) (a == 0 -> (b == 0 -> xids : b) : (b == 0 || a < b -> a : b))
#define OLDEST OLDEST_OF(open_xid[0], open_xid[1])
#define IS_DONE(m) (state[m] == gone)
#define IS_OVER (left == 0 && IS_DONE(1) && IS_DONE(2) && IS_DONE(3))

// No message below the low-water mark is left, or may still come.
inline check() {
  for (i_ : 1 .. LAST) { assert(i_ >= low_water || state[i_] == gone) }
  i_ = 0
}

// Messages of a session have the same key. inbox.publish takes an xid before the id.
proctype Publisher(byte me; byte messages) {
  byte id;
  do
  :: messages == 0 -> break
  :: else ->
#ifdef BROKEN_XID
     atomic { id = ids; ids++; state[id] = open; session_of[id] = me; printf("session %d: publishes %d\n", me, id) }
     atomic { open_xid[me] = xids; xids++ }
#else
     atomic { open_xid[me] = xids; xids++ }
     atomic { id = ids; ids++; state[id] = open; session_of[id] = me; printf("session %d: publishes %d\n", me, id) }
#endif
     atomic {
       if
       :: state[id] = committed; printf("session %d: commits %d\n", me, id)
       :: state[id] = gone; printf("session %d: rolls back %d\n", me, id)
       fi;
       messages--; open_xid[me] = 0; left--; id = 0;
       check()
     }
  od
}

// A message is sent after all earlier messages of its key. The first time counts: repetitions have the same id.
inline send(m) {
  d_step {
    for (i_ : 1 .. m - 1) {
      assert(is_sent[m] || is_sent[i_] || state[i_] != committed || session_of[i_] != session_of[m])
    }
    i_ = 0;
    is_sent[m] = true; is_acknowledged[m] = true;
    printf("relay %d: sends %d\n", me, m)
  }
}

// note_read: what the statement has found, and the gaps that end.
inline note_read() {
  for (m : 1 .. LAST) {
    if
    :: m <= highest && found[m] -> is_gap[m] = false; cut_short = true
    :: else
    fi
  }
  for (m : 1 .. LAST) {
    if
#ifdef BROKEN_GAP
    :: is_gap[m] && probes && !cut_short -> is_gap[m] = false
#else
    :: is_gap[m] && probes && is_over[m] && !cut_short -> is_gap[m] = false
#endif
    :: else
    fi;
    if
    :: m > highest && found[m] ->
       for (n : highest + 1 .. m - 1) { is_gap[n] = true; before[n] = 0; is_over[n] = false; is_watched[n] = false }
       highest = m
    :: else
    fi
  }
  m = 0; n = 0; cut_short = false
}

// relay_done: deletes under the relay's row. Gaps learn which transactions have ended.
inline delete_sent() {
  d_step {
    n = 0;
    for (m : 1 .. LAST) { n = n + (is_acknowledged[m] -> 1 : 0) }
    if
    :: n == 0
    :: n > 0 && owner == me ->
       for (m : 1 .. LAST) {
         if
         :: is_acknowledged[m] ->
            assert(is_sent[m] || state[m] == gone);
            state[m] = gone; is_acknowledged[m] = false;
            printf("relay %d: deletes %d\n", me, m)
         :: else
         fi;
         if
         :: is_gap[m] && before[m] == 0 -> before[m] = xids
         :: is_gap[m] && before[m] > 0 && before[m] <= OLDEST -> is_over[m] = true
         :: else
         fi
       }
       xids++; check()
    :: else -> is_lost = true
    fi;
    m = 0; n = 0
  }
}

inline begin_again() {
  for (m : 0 .. LAST) {
    is_gap[m] = false; found[m] = false; is_acknowledged[m] = false; before[m] = 0; is_over[m] = false;
    is_watched[m] = false
  }
  m = 0; n = 0; highest = 0; probes = false; running[0] = 0; running[1] = 0; is_lost = false; cut_short = false
}

#define UNPROBED(m) (is_gap[m] && !probes)

proctype Relay(byte me) {
  byte highest, m, n;
  bool probes, is_lost, cut_short, looks;
  bool is_gap[LAST + 1], found[LAST + 1], is_acknowledged[LAST + 1], is_over[LAST + 1], is_watched[LAST + 1];
  byte before[LAST + 1], running[SESSIONS];
  do
  :: IS_OVER -> break
  // relay_take
#ifdef BROKEN_LEASE
  :: atomic { true ->
#else
  :: atomic { owner == 0 || has_ended ->
#endif
       assert(owner == 0 || has_ended);
       owner = me; has_ended = false; highest = low_water - 1;
       printf("relay %d: takes the lease, reads from %d\n", me, low_water)
     }
     do
     :: IS_OVER || is_lost -> break
     :: atomic { losses > 0 -> losses--; printf("relay %d: begins again\n", me);
          if :: owner == me -> owner = 0 :: else fi }
        break
     :: else ->
        // relay_read: new messages, and gaps, old gaps not each time.
        atomic {
          if :: probes = true :: probes -> probes = false fi;
          n = 0;
          for (m : 1 .. LAST) {
            found[m] = state[m] == committed && (m > highest || (is_gap[m] && probes)) && !is_acknowledged[m];
            n = n + (found[m] -> 1 : 0)
          }
          m = 0; looks = n > 0; n = 0
        }
#ifndef BROKEN_OLD_GAPS
        // send_old_gaps: relay_running, and a read of the gaps if a transaction that could fill them has ended.
        if
        :: looks && (UNPROBED(1) || UNPROBED(2)) ->
           atomic {
             looks = false;
             for (m : 0 .. SESSIONS - 1) {
               looks = looks || (running[m] > 0 && running[m] != open_xid[m]);
               running[m] = open_xid[m]
             }
             for (m : 1 .. LAST) { looks = looks || (is_gap[m] && !is_watched[m]); is_watched[m] = is_gap[m] }
             m = 0
           }
           if
           :: looks ->
              atomic {
                for (m : 1 .. LAST) { found[m] = found[m] || (is_gap[m] && state[m] == committed && !is_acknowledged[m]) }
                m = 0
              }
           :: else
           fi
        :: else
        fi;
#endif
#ifdef BROKEN_DELETE_FIRST
        for (m : 1 .. LAST) { is_acknowledged[m] = is_acknowledged[m] || found[m] }
        delete_sent();
#endif
        do
        :: n == LAST -> break
        :: else ->
           n++;
           if :: found[n] -> send(n) :: else fi
        od;
        atomic { n = 0; note_read(); looks = false; for (m : 0 .. LAST) { found[m] = false } m = 0 }
        delete_sent();
        // relay_renew with the low-water mark: of gaps, and messages that are not deleted.
        d_step {
          if
          :: owner == me && !is_lost ->
             n = highest + 1;
             for (m : 1 .. LAST) {
               if :: m < n && (is_gap[m] || is_acknowledged[m]) -> n = m :: else fi
             }
             low_water = (n > low_water -> n : low_water);
             m = 0; n = 0; check()
          :: else -> is_lost = true
          fi
        }
     od;
     atomic { begin_again() }
  od
}

// A lease ends while its owner is suspended; the owner carries on after that.
proctype Clock() {
  do
  :: IS_OVER -> break
  :: atomic { losses > 0 && owner > 0 && !has_ended -> losses--; has_ended = true; printf("clock: the lease ends\n") }
  od
}

init {
  atomic {
    for (i_ : 0 .. LAST) { state[i_] = unused }
    i_ = 0;
    run Publisher(0, 2); run Publisher(1, 1); run Relay(1); run Relay(2); run Clock()
  }
}

#ifdef LIVENESS
ltl all_sent { <> IS_OVER }
#endif
