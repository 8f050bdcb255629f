/*
 * Who may write to a partition, and in which order: the protocol of the journal, as a model for Spin.
 *
 * It is the shortest description of the protocol there is; read it from top to bottom. `make model` tries every order in which its
 * steps can happen. It also leaves out one rule after the other, and expects an answer to be lost or doubled each time.
 *
 * One partition is modelled. Its commands have the offsets 0, 1, … of `orders[p]`. Workers read them and write the journal,
 * `results[p]`: exactly one record for each command, in order. A misplaced command is forwarded to its own partition, and its
 * record here is a note that says so. The position is where the journal ends: nothing else says it.
 *
 * What may go wrong, at any step and in any order:
 * - A worker stops and goes on later, however late: Spin lets the others run meanwhile. Or it starts over, having forgotten all.
 *   A process that died with requests still under way is a worker that stopped; its successor is another worker.
 * - Every worker may believe that the partition is its own. That is what an erased group, or a lost session, comes to at worst.
 *   So the group does not appear here, and nothing depends on its offsets or its generations.
 * - A late EndTxn: a request that the client sent long ago, and since then again, ends the transaction that is open now. It needs
 *   the same transactional id and epoch. It may come between any two requests, and so tears a transaction in two.
 * - The coordinator aborts a transaction that is open for long.
 *
 * - With -DLATE_ADD_PARTITIONS, a late AddPartitionsToTxn begins a transaction early, or lets a torn one go on.
 *
 * What is not modelled, since it adds nothing:
 * - Late Produce requests: brokers drop what has an old sequence number.
 * - Markers that reach the partitions one by one: a reader waits until everything before its end is decided.
 * - The plain commit of the group's offsets at an assignment. It finds a stale member early, and safety does not depend on it.
 * - Anchors (they claim like a worker), position notes, repeats, the stock.
 * - That the service claims again where claims came in between: docs/JOURNAL.md, section The model, says why it does.
 *
 * To read a counterexample: Tools/model/check.sh RULE
 */

/* ---- The rules, and one that can be left out: -DLEAVE_OUT=SINCE ------------------------------------------------------------- */

#define NONE            0
#define FENCE           1   /* A worker fences the ids of the claims that it finds. */
#define FENCE_FIRST     2   /* It fences before it claims. */
#define FAILED_FENCE    3   /* A fence that fails ends the attempt. */
#define SINCE           4   /* A claim says from where on there may be others to fence: before, all are fenced. */
#define UNDECIDED       5   /* Claims count although their transaction is undecided. */
#define WAIT            6   /* It reads up to its own claim, and waits until everything before is decided. */
#define BETWEEN         7   /* It fences the claims that came between its look at the claims and its own claim. */
#define READ_ON         8   /* After that it reads on, up to the end. */
#define WAIT_AGAIN      9   /* It waits until everything up to that end is decided. */
#define TOGETHER        10  /* All ids of a worker are initialised together, before it claims. */
#define SAME_ID         11  /* A claim is always written under the id that is initialised first. */
#define CLAIM_AGAIN     12  /* After every init_transactions a worker claims again before it writes anything else. */
#define JOURNAL_ONLY    13  /* The position comes from the journal, never from memory, after any trouble. */
#define ONE_AT_A_TIME   14  /* A transaction begins when the one before is committed, whatever producer. */
#define NEW_EPOCH       15  /* After an abort nothing is written in the same epoch. */
#define FORWARD_FIRST   16  /* Forwards are flushed before the notes that say so are produced. */
#define COPY            17  /* The receiver of forwards takes one that is not above its highest for a copy. */
#define POLLED          18  /* A record that was polled is never dropped. */
#define VERIFIED        19  /* Brokers refuse a Produce outside of a transaction (3.6 and later, by default). */

#ifndef LEAVE_OUT
#define LEAVE_OUT NONE
#endif
#define without(rule) (LEAVE_OUT == rule)

/* Proof that the model does something: Spin must find a run that comes there. -DSHOW=ALL_ANSWERED */
#define ALL_ANSWERED    1   /* every command has its record */
#define FORWARDED_TWICE 2   /* a transaction was torn after its forwards, and the receiver found a copy */
#define CLAIM_BETWEEN   3   /* a claim came in between */
#define REFUSED_COMMIT  4   /* a worker that others fenced wakes up and commits */
#ifndef SHOW
#define SHOW NONE
#endif

/* ---- The size --------------------------------------------------------------------------------------------------------------- */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef ASSIGNMENTS             /* in all: how often a worker starts, or starts over */
#define ASSIGNMENTS 3
#endif
#ifndef COMMANDS
#define COMMANDS 2
#endif
#ifndef BATCH                   /* the most commands in a transaction */
#define BATCH 2
#endif
#ifdef ALL_MISPLACED
#define misplaced(n) true
#else
#define misplaced(n) (n != 1)   /* so the commands are: forward, answer, forward, … */
#endif

/*
 * A worker has two sets of two transactional ids; a claim names a set. At each assignment it takes either set, new or not: safety
 * does not depend on it. (Taking them in turn leaves an id behind whose transaction cannot be decided.)
 * With -DSAME_INSTANCE the workers are processes under one and the same name, and share the sets.
 */
#ifdef SAME_INSTANCE
#define SETS 2
#define setOf(worker, n) (n)
#else
#define SETS (2 * WORKERS)
#define setOf(worker, n) (2 * (worker) + (n))
#endif
#define IDS (2 * SETS)
#define ROOM (ASSIGNMENTS * (1 + BATCH) + COMMANDS)

/* ---- The brokers: two logs, and what the coordinator knows of each transactional id ----------------------------------------- */

mtype = { Claim, Answer, Note, Forward, Blank, Open, Committed, Aborted };

typedef Record {
    mtype kind = Blank;
    mtype state = Blank;
    byte id;                    /* who wrote it: claims name the set of this id */
    byte place;                 /* the command's offset; of a claim: its `since` */
    byte rev                    /* of an answer: the revision of the stock, counted in answers */
};

typedef Log {
    Record at[ROOM];
    byte end;
    byte stable                 /* the last stable offset: everything before it is decided */
};

#define Journal 0
#define Orders  1               /* the partition that misplaced commands belong to; without what its owner has read */
Log log[2];

#define Nobody 255
typedef Transaction {
    byte holder = Nobody;       /* the worker that knows the newest epoch; requests of older ones are refused */
    bool in[2];                 /* the logs that belong to the open transaction */
    bool commitSent;            /* an EndTxn of this epoch was sent, so a copy of it may still come */
    bool abortSent;
    bool lastAborted            /* how the last transaction ended */
};
Transaction txn[IDS];
#define ongoing(x) (txn[x].in[Journal] || txn[x].in[Orders])

/* What the receiver of the forwards knows: every misplaced command before this offset has come. */
byte received;

byte assignments = ASSIGNMENTS;
byte started;

/* Scratch, within one step. */
hidden byte i, j, n, revision, victim, ok;
hidden byte inOrder, rightState, forwardStands, forwardsInOrder, answeredOnce, notShown;

inline comesTo(what) { notShown = (SHOW != what); assert(notShown) }

/* ---- The auditor: looks whenever a transaction has ended -------------------------------------------------------------------- */

inline auditJournal() {
    i = 0; n = 0; revision = 0;
    do
    :: i < log[Journal].stable ->
        if
        :: log[Journal].at[i].state == Committed && log[Journal].at[i].kind != Claim ->
            inOrder = (log[Journal].at[i].place == n);
            assert(inOrder);                        /* no command is missing, none has two records */
            n++;
            if
            :: log[Journal].at[i].kind == Answer ->
                revision++;
                rightState = (log[Journal].at[i].rev == revision);
                assert(rightState)                  /* it was answered from the state that the answers before it left */
            :: else ->
                j = 0;
                do
                :: j < log[Orders].end &&
                    (log[Orders].at[j].state != Committed || log[Orders].at[j].place != log[Journal].at[i].place) -> j++
                :: else -> break
                od;
                forwardStands = (log[Journal].at[i].place < received || j < log[Orders].end);
                assert(forwardStands)               /* what a note says is true */
            fi
        :: else
        fi;
        i++
    :: else -> break
    od;
    if :: n == COMMANDS -> comesTo(ALL_ANSWERED) :: else fi
}

/* The receiver reads committed forwards, in order. One below its highest is a copy; one above must not have overtaken another. */
inline receiveForwards() {
    do
    :: log[Orders].stable > 0 ->
        if
        :: log[Orders].at[0].state == Committed && log[Orders].at[0].place < received ->
            answeredOnce = !without(COPY);
            assert(answeredOnce);
            comesTo(FORWARDED_TWICE)
        :: log[Orders].at[0].state == Committed && log[Orders].at[0].place >= received ->
            do
            :: received < log[Orders].at[0].place -> forwardsInOrder = !misplaced(received); assert(forwardsInOrder); received++
            :: else -> break
            od;
            received++
        :: else
        fi;
        i = 1;
        do
        :: i < log[Orders].end -> copyRecord(Orders, i, i - 1); i++
        :: else -> break
        od;
        log[Orders].end--; log[Orders].stable--;
        blank(Orders, log[Orders].end);
        log[Orders].at[log[Orders].end].state = Blank
    :: else -> break
    od
}

inline copyRecord(l, from, onto) {
    log[l].at[onto].kind = log[l].at[from].kind;
    log[l].at[onto].state = log[l].at[from].state;
    log[l].at[onto].id = log[l].at[from].id;
    log[l].at[onto].place = log[l].at[from].place;
    log[l].at[onto].rev = log[l].at[from].rev
}

inline blank(l, which) {
    log[l].at[which].kind = Blank; log[l].at[which].id = 0; log[l].at[which].place = 0; log[l].at[which].rev = 0
}

/* ---- Transactions ----------------------------------------------------------------------------------------------------------- */

/* A marker decides every open record of the id. (Spin has fewer states to visit if what is no longer read is reset.) */
inline writeMarker(l, x, outcome) {
    i = 0;
    do
    :: i < log[l].end ->
        if
        :: log[l].at[i].state == Open && log[l].at[i].id == x ->
            log[l].at[i].state = outcome;
            if
            :: log[l].at[i].kind == Claim
            :: log[l].at[i].kind != Claim && outcome == Committed -> log[l].at[i].id = 0
            :: log[l].at[i].kind != Claim && outcome == Aborted -> blank(l, i)
            fi
        :: else
        fi;
        i++
    :: else -> break
    od;
    do
    :: log[l].stable < log[l].end && log[l].at[log[l].stable].state != Open -> log[l].stable++
    :: else -> break
    od
}

inline endTransaction(x, outcome) {
    if :: txn[x].in[Journal] -> writeMarker(Journal, x, outcome) :: else fi;
    if :: txn[x].in[Orders] -> writeMarker(Orders, x, outcome) :: else fi;
    txn[x].in[Journal] = false;
    txn[x].in[Orders] = false;
    auditJournal();
    receiveForwards();
    txn[x].lastAborted = (outcome == Aborted)
}

/* InitProducerId: a new epoch. What is open is aborted; whatever comes later under an older epoch is refused. */
inline initTransactions(who, x) {
    if :: ongoing(x) -> endTransaction(x, Aborted) :: else fi;
    txn[x].holder = who;
    txn[x].commitSent = false;
    txn[x].abortSent = false;
    txn[x].lastAborted = false
}

/*
 * AddPartitionsToTxn (once in a client's transaction) and Produce. If a late EndTxn has ended the transaction meanwhile,
 * - a log that the client has not added yet is added now, and begins a second transaction: that is the tear;
 * - a log that it has added is refused, since brokers verify.
 */
inline produce(l, what, which, itsRevision) {
    ok = txn[id].holder == w && (!added[l] || txn[id].in[l] || without(VERIFIED));
    if
    :: ok ->
        if :: !added[l] -> txn[id].in[l] = true :: else fi;
        added[l] = true;
        log[l].at[log[l].end].kind = what;
        log[l].at[log[l].end].state = Open;
        log[l].at[log[l].end].id = id;
        log[l].at[log[l].end].place = which;
        log[l].at[log[l].end].rev = itsRevision;
        log[l].end++
    :: else
    fi
}

/* EndTxn. If a late one has done the same already, it succeeds and does nothing. */
inline commit(x) {
    ok = txn[x].holder == w && (ongoing(x) || !txn[x].lastAborted);
    if
    :: ok ->
        txn[x].commitSent = true;
        if :: ongoing(x) -> endTransaction(x, Committed) :: else fi
    :: else -> printf("worker %d: the commit of id %d is refused\n", w, x); comesTo(REFUSED_COMMIT)
    fi
}

/* What comes from no worker that is awake. */
proctype Coordinator(byte c) {
end:
    do
    :: d_step { txn[c].commitSent && ongoing(c) ->
            printf("a late EndTxn commits what id %d has open\n", c);
            endTransaction(c, Committed)
       }
    :: d_step { txn[c].abortSent && ongoing(c) ->
            printf("a late EndTxn aborts what id %d has open\n", c);
            endTransaction(c, Aborted)
       }
#ifdef LATE_ADD_PARTITIONS
    :: d_step { txn[c].commitSent && !txn[c].in[Journal] ->
            txn[c].in[Journal] = true;
            printf("a late AddPartitions adds the journal for id %d\n", c)
       }
    :: d_step { txn[c].commitSent && !txn[c].in[Orders] ->
            txn[c].in[Orders] = true;
            printf("a late AddPartitions adds the orders for id %d\n", c)
       }
#endif
    :: d_step { ongoing(c) -> printf("the transaction of id %d times out\n", c); initTransactions(Nobody, c) }
    od
}

/* ---- A worker --------------------------------------------------------------------------------------------------------------- */

/* Beside every step: the worker gives up, or dies, and starts over. */
#define OR_STARTS_OVER :: atomic { assignments > 0 -> goto again }

/* A commit whose answer never comes is also under way when its sender is gone. */
#define OR_NEVER_HEARS_OF_IT \
    :: atomic { assignments > 0 -> if :: txn[id].holder == w -> txn[id].commitSent = true :: else fi; goto again }

/* Beside every step of a transaction, if the rule is left out: it aborts and goes on. */
#define OR_ABORTS_AND_GOES_ON \
    :: atomic { without(NEW_EPOCH) && assignments > 0 && txn[id].holder == w -> assignments--; d_step { abort() }; goto work }

inline abort() {
    printf("worker %d aborts under id %d and goes on\n", w, id);
    txn[id].abortSent = true;
    if :: ongoing(id) -> endTransaction(id, Aborted) :: else fi;
    to = 0; made = 0; at = 0; id = 0; added[Journal] = false; added[Orders] = false
}

/* Once a process is gone, its epoch is unused. Only a commit that is under way may still find something open. */
inline leave(x) {
    if
    :: txn[x].holder == w ->
        txn[x].holder = Nobody;
        if :: ongoing(x) :: else -> txn[x].commitSent = false; txn[x].abortSent = false; txn[x].lastAborted = false fi
    :: else
    fi
}

/* Notes the sets of the claims in [first, bound) that are not our own. */
inline setsOfClaims(first, bound, undecidedToo) {
    i = first;
    do
    :: i < bound ->
        if
        :: log[Journal].at[i].kind == Claim && (undecidedToo || log[Journal].at[i].state == Committed) ->
            fence = fence | (1 << (log[Journal].at[i].id / 2))
        :: else
        fi;
        i++
    :: else -> break
    od;
    fence = fence & ~(1 << set)
}

/* A passing client calls init_transactions under every id of the sets in `fence`. */
inline fenceAll() {
    do
    :: atomic {
        d_step {
            victim = 0;
            do :: fence & (1 << victim) -> break :: else -> victim++ od;
            if :: second -> fence = fence & ~(1 << victim) :: else fi;
            victim = 2 * victim + second;
            second = !second;
            initTransactions(Nobody, victim);
            printf("worker %d fences id %d\n", w, victim)
        };
        if :: fence == 0 -> break :: else fi
      }
    :: atomic { without(FAILED_FENCE) -> fence = 0; second = 0; printf("worker %d fails to fence\n", w); break }
    OR_STARTS_OVER
    od
}

/* `at` moves to the next command of the batch that must be forwarded, or to the batch's end. */
inline nextMisplaced() { do :: at < to && !misplaced(at) -> at++ :: else -> break od }

/* If TOGETHER is left out: the second id is initialised when it is first used. */
inline lateInit() { initTransactions(w, id); late = false; printf("worker %d initialises id %d\n", w, id) }

inline transactionDone() {
    next = to; answers = answers + made; to = 0; made = 0; at = 0; id = 0; added[Journal] = false; added[Orders] = false
}

proctype Worker(byte w) {
    byte set;                   /* its ids are 2 * set and 2 * set + 1 */
    byte since, claim, upTo;    /* offsets in the journal: the end when it read the claims, its claim, and how far it must read */
    byte fence;                 /* sets to fence, one bit for each */
    byte next, answers;         /* its position, and the stock's revision */
    byte id, to, at, made;      /* the transaction: its id, the batch's end, the next command of it, and the answers in it */
    bool added[2];              /* the logs that the client has added to it */
    bool second, before;
    bool late, claimed, knows;  /* used when a rule is left out */
    byte other;

    /* An assignment, right or wrong. Only `next` of a flawed worker outlives it. */
again:
    atomic {
        d_step {
            if :: before -> leave(2 * set); leave(2 * set + 1) :: else fi;
            id = 0; since = 0; claim = 0; upTo = 0; fence = 0; second = 0; to = 0; at = 0; made = 0; other = 0; late = 0;
            added[Journal] = false; added[Orders] = false;
            if :: knows :: else -> next = 0; answers = 0 fi
        };
end_stopped:
        assignments > 0 && (before || started == w);
        assignments--;
        if
        :: claimed
        :: !claimed -> set = setOf(w, 0); if :: before :: else -> before = true; started++ fi
        :: !claimed && before -> set = setOf(w, 1)
        fi
    };

    /* 1. It makes its producers, all together. */
    if
    :: d_step { printf("worker %d initialises ids %d and %d\n", w, 2 * set, 2 * set + 1); initTransactions(w, 2 * set) }
    OR_STARTS_OVER
    fi;
    if
    :: atomic {
        if :: without(TOGETHER) -> late = true :: else -> d_step { initTransactions(w, 2 * set + 1) } fi;
        if :: claimed -> upTo = log[Journal].end; goto restore :: else fi
      }
    OR_STARTS_OVER
    fi;

    /* 2. (Here the service commits the group's offsets.) */

    /* 3. It reads the claims from the last committed claim's `since` on, undecided and aborted ones included, and fences them. */
    if
    :: atomic {
        d_step {
            n = 0; i = 0;
            do
            :: i < log[Journal].stable ->
                if
                :: log[Journal].at[i].kind == Claim && log[Journal].at[i].state == Committed ->
                    n = (without(SINCE) -> i : log[Journal].at[i].place)
                :: else
                fi;
                i++
            :: else -> break
            od;
            if
            :: without(UNDECIDED) -> setsOfClaims(n, log[Journal].stable, false)
            :: else -> setsOfClaims(n, log[Journal].end, true)
            fi;
            since = log[Journal].end;
            if :: without(FENCE) -> fence = 0 :: else fi;
            printf("worker %d reads the claims from %d up to %d\n", w, n, since)
        };
        if :: fence == 0 || without(FENCE_FIRST) -> goto claiming :: else fi
      }
    OR_STARTS_OVER
    fi;
    fenceAll();

    /* 4. It writes its claim, as its first transaction. */
claiming:
    if
    :: atomic {
        if :: id = 2 * set :: without(SAME_ID) -> id = 2 * set + 1 fi;
        d_step { produce(Journal, Claim, since, 0) };
        if
        :: ok -> claim = log[Journal].end - 1; printf("worker %d claims at %d since %d\n", w, claim, since)
        :: else -> goto again
        fi
      }
    OR_STARTS_OVER
    fi;
    if
    :: atomic {
        d_step { commit(id) };
        if :: ok :: else -> goto again fi;
        id = 0; added[Journal] = false;
        assert(log[Journal].at[claim].state == Committed);
        printf("worker %d has claimed\n", w);
        if :: without(WAIT) -> upTo = log[Journal].stable :: else -> upTo = claim + 1 fi;
        if :: without(CLAIM_AGAIN) -> claimed = true :: else fi
      }
    OR_NEVER_HEARS_OF_IT
    fi;

    /*
     * 5. It reads up to its claim, waiting until all before is decided. If claims came in between, their workers may have gone on
     * writing behind our claim until they are fenced here: so it then reads on to the end, and waits for that too.
     */
    if
    :: atomic {
        log[Journal].stable >= upTo ->
        d_step {
            if :: claim < upTo -> n = claim :: else -> n = upTo fi;
            setsOfClaims(since, n, false);
            since = 0;
            if :: fence -> printf("worker %d finds claims in between\n", w); comesTo(CLAIM_BETWEEN) :: else fi;
            if :: without(BETWEEN) -> fence = 0 :: else fi
        };
        if :: fence == 0 -> goto restore :: else fi
      }
    OR_STARTS_OVER
    fi;
    fenceAll();
    if
    :: atomic {
        if
        :: without(READ_ON)
        :: without(WAIT_AGAIN) -> upTo = (log[Journal].stable > upTo -> log[Journal].stable : upTo)
        :: else -> upTo = log[Journal].end
        fi
      }
    OR_STARTS_OVER
    fi;
restore:
    if
    :: atomic {
        log[Journal].stable >= upTo ->
        d_step {
            i = 0;
            do
            :: i < upTo && !knows ->
                if
                :: log[Journal].at[i].state == Committed && log[Journal].at[i].kind != Claim ->
                    next = log[Journal].at[i].place + 1;
                    if :: log[Journal].at[i].kind == Answer -> answers = log[Journal].at[i].rev :: else fi
                :: else
                fi;
                i++
            :: else -> break
            od;
            upTo = 0; claim = 0; i = 0;
            if :: without(JOURNAL_ONLY) -> knows = true :: else fi;
            printf("worker %d has restored, and goes on at command %d\n", w, next)
        };
        if
        :: without(POLLED) && next < COMMANDS -> next++; printf("worker %d drops what it polled\n", w)
        :: !without(POLLED) || next == COMMANDS
        fi;
        goto work
      }
    OR_STARTS_OVER
    fi;

    /* 6. Transactions, one after the other, under either id. */
work:
    atomic {
        if :: next == COMMANDS && other == 0 -> goto idle :: next == COMMANDS && other -> goto committing :: next < COMMANDS fi;
        if
        :: other != 2 * set + 1 -> id = 2 * set
        :: other != 2 * set + 2 -> id = 2 * set + 1
        fi;
        if :: to = next + 1 :: next + 1 < COMMANDS && BATCH > 1 -> to = next + 2 fi;
        at = next;
        if :: without(FORWARD_FIRST) -> goto notes :: else fi;
        d_step { nextMisplaced(); n = 0 };
        if :: at == to -> at = next; goto notes :: else fi
    };

    /* What leaves the partition goes first, and is flushed … */
forwards:
    do
    :: atomic {
        if :: late && id == 2 * set + 1 -> d_step { lateInit() } :: else fi;
        d_step { produce(Orders, Forward, at, 0) };
        if :: ok -> printf("worker %d forwards command %d under id %d\n", w, at, id) :: else -> goto again fi;
        d_step { at++; nextMisplaced(); n = 0 };
        if
        :: at == to && without(FORWARD_FIRST) -> goto committing
        :: at == to && !without(FORWARD_FIRST) -> at = next; break
        :: else
        fi
      }
    OR_ABORTS_AND_GOES_ON
    OR_STARTS_OVER
    od;

    /* … then the notes and the answers, in order. */
notes:
    do
    :: atomic {
        if :: late && id == 2 * set + 1 -> d_step { lateInit() } :: else fi;
        d_step {
            if
            :: misplaced(at) -> produce(Journal, Note, at, 0)
            :: else -> produce(Journal, Answer, at, answers + made + 1)
            fi
        };
        if :: ok -> printf("worker %d journals command %d under id %d\n", w, at, id) :: else -> goto again fi;
        if :: misplaced(at) :: else -> made++ fi;
        at++;
        if
        :: at < to
        :: at == to && !without(FORWARD_FIRST) -> break
        :: at == to && without(FORWARD_FIRST) ->
            at = next;
            d_step { nextMisplaced(); n = 0 };
            if :: at < to -> goto forwards :: else -> break fi
        fi
      }
    OR_ABORTS_AND_GOES_ON
    OR_STARTS_OVER
    od;

committing:
    if
    :: atomic {
        if
        :: to ->
            d_step { commit(id) };
            if :: ok -> printf("worker %d commits under id %d\n", w, id) :: else -> goto again fi;
            d_step { transactionDone() }
        :: else
        fi;
        if
        :: other -> d_step { commit(other - 1) }; other = 0; if :: ok :: else -> goto again fi
        :: else
        fi;
        goto work
      }
    :: atomic {
        without(ONE_AT_A_TIME) && other == 0 && to ->
        other = id + 1;
        printf("worker %d goes on before id %d has committed\n", w, id);
        d_step { transactionDone() };
        goto work
      }
    OR_ABORTS_AND_GOES_ON
    OR_NEVER_HEARS_OF_IT
    fi;

idle:
end_idle:
    if
    OR_STARTS_OVER
    fi
}

init {
    atomic {
        n = 0;
        do :: n < IDS -> run Coordinator(n); n++ :: else -> break od;
        n = 0;
        do :: n < WORKERS -> run Worker(n); n++ :: else -> break od
    }
}
