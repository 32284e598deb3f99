// Event ids in generations: batches are stored while generations are frozen, filters are made, and a failover loses a
// freeze. An id is stored once.
//
// Ingest shares the routing lock, a freeze has it alone. A generation that is forgotten is left out: its ids may come
// again.

#ifdef LARGE
#define IDS 2
#define BATCHES 3
#define FREEZES 3
#else
#define IDS 1
#define BATCHES 2
#define FREEZES 2
#endif
#define GENERATIONS 4
#define BIT(i) (1 << (i))

// Tables routing, ledger_generation and ledger, as committed.
byte version = 1, current = 1;
byte key[GENERATIONS + 1];              // of a frozen generation's filter; 0: it is not frozen
byte has[GENERATIONS + 1];              // ids, a bit each
byte events[IDS + 1];

// The standby before a freeze.
bool is_behind;
byte old_version, old_current, old_key[GENERATIONS + 1], old_has[GENERATIONS + 1], old_events[IDS + 1];

// Filters in the daemons' memory, by key.
bool is_made[FREEZES + 2];
byte filter[FREEZES + 2];

// Locks: the advisory lock on routing; an id that a session has inserted and not committed.
byte routing_shares;
byte inserting[IDS + 1];

byte versions = 1, keys, freezes = FREEZES;

proctype Ingester(byte me) {
  byte id, g, read_version, read_key[GENERATIONS + 1], suspects, batches = BATCHES;
  bool is_known;
  do
  :: batches == 0 -> break
  :: else ->
     // read_routing, then the filters.
     atomic {
       read_version = version;
       for (g : 1 .. GENERATIONS) { read_key[g] = key[g] }
       g = 0
     }
     atomic {
       if :: id = 1 :: IDS > 1 -> id = IDS fi;
       suspects = 0;
       for (g : 1 .. GENERATIONS) {
         if
         :: read_key[g] > 0 && (!is_made[read_key[g]] || (filter[read_key[g]] & BIT(id))) -> suspects = suspects | BIT(g)
         :: else
         fi
       }
       g = 0;
       routing_shares++
     }
     // inbox.ingest: the version, then the generations that may have the id.
     atomic {
       is_known = false;
#ifndef BROKEN_VERSION
       if
       :: read_version != version -> routing_shares--; goto again
       :: else
       fi;
#endif
       for (g : 1 .. GENERATIONS) {
         is_known = is_known || ((suspects & BIT(g)) && (has[g] & BIT(id)))
       }
       g = 0
     }
     // The unique index of the current generation: waits for another session's row.
     atomic {
       is_known || inserting[id] == 0 ->
#ifndef BROKEN_UNIQUE
       is_known = is_known || (has[current] & BIT(id));
#endif
       inserting[id] = (is_known -> inserting[id] : me)
     }
     atomic {
       if
       :: inserting[id] == me ->
          inserting[id] = 0;
          if
          :: has[current] = has[current] | BIT(id); events[id]++;
             printf("instance %d: stores id %d in generation %d\n", me, id, current);
             assert(events[id] == 1)
          :: printf("instance %d: rolls back id %d\n", me, id)
          fi
       :: else -> printf("instance %d: id %d is a duplicate\n", me, id)
       fi;
       routing_shares--; batches--
     }
again:
     skip
  od
}

// inbox.freeze_generation.
proctype Freezer() {
  byte g;
  do
  :: freezes == 0 -> break
  :: atomic {
       freezes > 0 && routing_shares == 0 ->
       is_behind = true;
       old_version = version; old_current = current;
       for (g : 1 .. GENERATIONS) { old_key[g] = key[g]; old_has[g] = has[g] }
       for (g : 1 .. IDS) { old_events[g] = events[g] }
       g = 0;
#ifdef BROKEN_KEY
       key[current] = current;
#else
       keys++; key[current] = keys;
#endif
       printf("freezer: freezes generation %d under key %d\n", current, key[current]);
       current++; versions++; version = versions; freezes--
     }
  od
}

#define MAY_MAKE(g) (key[g] > 0 && !is_made[key[g]])

// Maintenance makes the filter of a frozen generation, from its committed rows.
proctype Maker() {
end:
  do
  :: atomic { MAY_MAKE(1) -> filter[key[1]] = has[1]; is_made[key[1]] = true; printf("maintenance: makes filter %d\n", key[1]) }
  :: atomic { MAY_MAKE(2) -> filter[key[2]] = has[2]; is_made[key[2]] = true; printf("maintenance: makes filter %d\n", key[2]) }
  :: atomic { MAY_MAKE(3) -> filter[key[3]] = has[3]; is_made[key[3]] = true; printf("maintenance: makes filter %d\n", key[3]) }
#ifdef BROKEN_EARLY
  :: atomic {
       keys < FREEZES && !is_made[keys + 1] ->
       filter[keys + 1] = has[current]; is_made[keys + 1] = true;
       printf("maintenance: makes filter %d before its freeze\n", keys + 1)
     }
#endif
  od
}

// Another server answers, which lacks the last freeze and all that came after it.
proctype Failover() {
  byte g;
end:
  atomic {
    is_behind && routing_shares == 0 ->
    version = old_version; current = old_current;
    for (g : 1 .. GENERATIONS) { key[g] = old_key[g]; has[g] = old_has[g] }
    for (g : 1 .. IDS) { events[g] = old_events[g] }
    g = 0; is_behind = false;
    printf("server: lacks the last freeze\n")
  }
}

init {
  atomic { run Ingester(1); run Ingester(2); run Freezer(); run Maker(); run Failover() }
}
