-- Counts of limits that are shared through the database: package ratelimit/pgstore, which explains the keys.
-- Times are microseconds since 1970 UTC, so that every store counts alike; until is the instant from which a row no
-- longer counts, and from which pgstore's Purge may delete it.
--
-- The tables are logged, not UNLOGGED: a crash or a failover must not hand a guesser of passwords a fresh allowance.
-- What makes logged tables dear is waiting for the disk at COMMIT; ratelimit_take does not (see there).

-- A token bucket or leaky bucket (until = full again, a = ticks early, limit = capacity), or a fixed window (until =
-- end, a = used). unit and micro are those of the limit it was counted under: it may have changed since.
CREATE TABLE ratelimit_counts (
    key      bytea  PRIMARY KEY,
    policy   text   NOT NULL,
    until    bigint NOT NULL,
    a        bigint NOT NULL,
    capacity bigint NOT NULL,
    unit     bigint NOT NULL,
    micro    bigint NOT NULL
) WITH (fillfactor = 70);

-- A sliding log: what was admitted at each instant.
CREATE TABLE ratelimit_log (
    key    bytea  NOT NULL,
    at     bigint NOT NULL,
    units  bigint NOT NULL CHECK (units > 0),
    policy text   NOT NULL,
    until  bigint NOT NULL,
    PRIMARY KEY (key, at)
);

-- Units that may be given back.
CREATE TABLE ratelimit_reservations (
    key   bytea  NOT NULL,
    id    bytea  NOT NULL,
    units bigint NOT NULL,
    taken bigint NOT NULL,
    until bigint NOT NULL,
    PRIMARY KEY (key, id)
);

CREATE INDEX ratelimit_counts_until ON ratelimit_counts (until);
CREATE INDEX ratelimit_log_until ON ratelimit_log (until);
CREATE INDEX ratelimit_reservations_until ON ratelimit_reservations (until);

-- What one statement asks of one key; the limit in the numbers of ratelimit.Bucket, or quota and period.
CREATE TYPE ratelimit_claim AS (
    key       bytea,
    policy    text,
    algorithm text,   -- bucket, window or log
    cost      bigint, -- at most capacity + 1
    capacity  bigint,
    unit      bigint, -- bucket: ticks a token; window and log: µs of the period; calendar window: its end
    micro     bigint  -- bucket: ticks a microsecond; calendar window: the end of the next one, else 0
);

-- The answer: ratelimit.Status in microseconds.
CREATE TYPE ratelimit_status AS (
    allowed   boolean,
    remaining bigint,
    wait      bigint,
    reset     bigint,
    oldest    bigint
);

-- ratelimit_lock makes the caller the only one to write these keys until its transaction ends. Locks are taken in
-- ascending order, so nobody waits for each other in a circle, and need no row: a key that is not there yet is locked
-- like any other, and a refusal writes nothing.
CREATE FUNCTION ratelimit_lock(keys bytea[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
BEGIN
    -- What was committed while waiting for a lock must be seen after it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'limits are counted at READ COMMITTED only';
    END IF;
    FOR number IN
        SELECT DISTINCT ('x' || encode(substring(k FROM 1 FOR 8), 'hex'))::bit(64)::bigint
        FROM unnest(keys) AS k
        ORDER BY 1
    LOOP
        PERFORM pg_advisory_xact_lock(number);
    END LOOP;
END $$;

-- ratelimit_now is the database's clock, or a test's.
CREATE FUNCTION ratelimit_now(clock bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(clock, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

CREATE FUNCTION ratelimit_ceil(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT a / b + CASE WHEN a % b > 0 THEN 1 ELSE 0 END
$$;

-- ratelimit_bucket reads a bucket. If its limit has changed, what was consumed stays consumed, at most the new capacity.
CREATE FUNCTION ratelimit_bucket(c ratelimit_claim, now bigint, OUT full_at bigint, OUT early bigint) LANGUAGE plpgsql AS $$
DECLARE
    r       ratelimit_counts;
    missing bigint; -- ticks
BEGIN
    SELECT * INTO r FROM ratelimit_counts WHERE key = c.key;
    IF r IS NULL OR r.until <= now THEN
        full_at := 0;
        early := 0;
        RETURN;
    END IF;
    full_at := r.until;
    early := r.a;
    IF (r.capacity, r.unit, r.micro) = (c.capacity, c.unit, c.micro) THEN
        RETURN;
    END IF;
    missing := least((r.until - now)::numeric * r.micro - r.a, r.capacity * r.unit);
    IF (r.unit, r.micro) <> (c.unit, c.micro) THEN
        missing := least(ratelimit_ceil(missing, r.unit), c.capacity) * c.unit;
    END IF;
    missing := least(missing, c.capacity * c.unit);
    full_at := now + ratelimit_ceil(missing, c.micro);
    early := ratelimit_ceil(missing, c.micro) * c.micro - missing;
END $$;

-- ratelimit_window_end is the end of the window that now falls in.
CREATE FUNCTION ratelimit_window_end(c ratelimit_claim, now bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF c.micro = 0 THEN
        RETURN now - now % c.unit + c.unit;
    ELSIF now < c.unit THEN
        RETURN c.unit;
    ELSIF now < c.micro THEN
        RETURN c.micro;
    END IF;
    -- A window that is over would be a fresh one for each request.
    RAISE EXCEPTION 'the clocks of database and bank differ by more than half a window of %', c.policy;
END $$;

-- ratelimit_window reads a window: the one now falls in, or a later one that was already counted in.
CREATE FUNCTION ratelimit_window(c ratelimit_claim, now bigint, OUT ends bigint, OUT used bigint) LANGUAGE plpgsql AS $$
DECLARE
    r ratelimit_counts;
BEGIN
    SELECT * INTO r FROM ratelimit_counts WHERE key = c.key;
    ends := r.until;
    used := r.a;
    -- The period has changed, or there was none, or the calendar had longer windows.
    IF c.micro = 0 AND r.unit <> c.unit OR c.micro > 0 AND (r.micro = 0 OR ends > c.micro) THEN
        ends := least(ends, ratelimit_window_end(c, now));
    END IF;
    IF ends IS NULL OR ends <= now THEN
        ends := ratelimit_window_end(c, now);
        used := 0;
    END IF;
END $$;

-- ratelimit_log_state reads what of a log still counts at now, or at its newest entry if now is earlier.
CREATE FUNCTION ratelimit_log_state(c ratelimit_claim, now bigint,
                                    OUT gone bigint, OUT used bigint, OUT oldest bigint, OUT newest bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT greatest(now, max(l.at)) - c.unit INTO gone FROM ratelimit_log l WHERE l.key = c.key;
    SELECT coalesce(sum(l.units), 0), min(l.at), max(l.at) INTO used, oldest, newest
    FROM ratelimit_log l
    WHERE l.key = c.key AND l.at > gone;
END $$;

-- ratelimit_decide says what a claim would get. It is the arithmetic of ratelimit.Bucket, Window and Log.
CREATE FUNCTION ratelimit_decide(c ratelimit_claim, now bigint) RETURNS ratelimit_status LANGUAGE plpgsql AS $$
DECLARE
    s      ratelimit_status;
    bucket record;
    win    record;
    log    record;
    ticks  bigint;
    ready  bigint; -- the instant from which the claim is admitted
BEGIN
    s.oldest := 0;
    s.reset := 0;
    CASE c.algorithm
    WHEN 'bucket' THEN
        bucket := ratelimit_bucket(c, now);
        ticks := c.capacity * c.unit;
        s.reset := greatest(bucket.full_at - now, 0);
        -- A full refill is the most that can be missing; only a clock set back sees more.
        s.remaining := CASE
            WHEN s.reset > ratelimit_ceil(ticks, c.micro) THEN 0
            ELSE greatest(ticks - greatest(s.reset * c.micro - bucket.early, 0), 0) / c.unit
        END;
        ready := bucket.full_at - (bucket.early + ticks - least(c.cost, c.capacity) * c.unit) / c.micro;
        s.allowed := c.cost = 0 OR ready <= now;
    WHEN 'window' THEN
        win := ratelimit_window(c, now);
        s.remaining := greatest(c.capacity - win.used, 0);
        ready := win.ends;
        s.oldest := greatest(ready - now, 0);
        s.reset := CASE WHEN win.used > 0 THEN s.oldest ELSE 0 END;
        s.allowed := c.cost <= s.remaining;
    WHEN 'log' THEN
        log := ratelimit_log_state(c, now);
        s.remaining := greatest(c.capacity - log.used, 0);
        IF log.used > 0 THEN
            s.oldest := greatest(log.oldest + c.unit - now, 0);
            s.reset := greatest(log.newest + c.unit - now, 0);
        END IF;
        s.allowed := c.cost <= s.remaining;
        IF NOT s.allowed THEN -- until enough of the oldest units have left
            SELECT l.at + c.unit INTO ready
            FROM (SELECT at, sum(units) OVER (ORDER BY at) AS freed
                  FROM ratelimit_log
                  WHERE key = c.key AND at > log.gone) AS l
            WHERE l.freed >= log.used + c.cost - c.capacity
            ORDER BY l.at
            LIMIT 1;
        END IF;
    END CASE;
    s.allowed := s.allowed AND c.cost <= c.capacity;
    s.wait := CASE WHEN s.allowed OR c.cost > c.capacity THEN 0 ELSE greatest(ready - now, 0) END;
    RETURN s;
END $$;

CREATE FUNCTION ratelimit_put(c ratelimit_claim, until bigint, a bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ratelimit_counts (key, policy, until, a, capacity, unit, micro)
    VALUES (c.key, c.policy, until, a, c.capacity, c.unit, c.micro)
    ON CONFLICT (key) DO UPDATE
    SET policy = excluded.policy, until = excluded.until, a = excluded.a,
        capacity = excluded.capacity, unit = excluded.unit, micro = excluded.micro
$$;

-- ratelimit_charge writes what ratelimit_decide allowed, and says when it was counted and until when it counts.
CREATE FUNCTION ratelimit_charge(c ratelimit_claim, now bigint, OUT taken bigint, OUT until bigint) LANGUAGE plpgsql AS $$
DECLARE
    bucket record;
    win    record;
    log    record;
    ticks  bigint;
    micros bigint;
BEGIN
    CASE c.algorithm
    WHEN 'bucket' THEN
        bucket := ratelimit_bucket(c, now);
        ticks := c.cost * c.unit - bucket.early;
        micros := ratelimit_ceil(greatest(ticks, 0), c.micro);
        PERFORM ratelimit_put(c, greatest(bucket.full_at, now) + micros, micros * c.micro - ticks);
        taken := now;
        until := now + ratelimit_ceil(c.capacity * c.unit, c.micro);
    WHEN 'window' THEN
        win := ratelimit_window(c, now);
        PERFORM ratelimit_put(c, win.ends, win.used + c.cost);
        taken := win.ends - 1;
        until := win.ends;
    WHEN 'log' THEN
        log := ratelimit_log_state(c, now);
        taken := greatest(now, log.newest);
        until := taken + c.unit;
        DELETE FROM ratelimit_log l WHERE l.key = c.key AND l.at <= log.gone;
        INSERT INTO ratelimit_log AS l (key, at, units, policy, until)
        VALUES (c.key, taken, c.cost, c.policy, ratelimit_charge.until)
        ON CONFLICT (key, at) DO UPDATE SET units = l.units + excluded.units, until = excluded.until;
    END CASE;
END $$;

-- ratelimit_adopt writes what was counted under another limit as it counts under this one. A refusal would else leave the
-- old count, and whoever waited as told would be refused once more: by then the old count says something else.
CREATE FUNCTION ratelimit_adopt(c ratelimit_claim, now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    win    record;
    bucket record;
BEGIN
    IF c.algorithm = 'log' OR NOT EXISTS (
        SELECT FROM ratelimit_counts AS r
        WHERE r.key = c.key AND r.until > now AND (r.capacity, r.unit, r.micro) <> (c.capacity, c.unit, c.micro)
    ) THEN
        RETURN;
    ELSIF c.algorithm = 'window' THEN
        win := ratelimit_window(c, now);
        PERFORM ratelimit_put(c, win.ends, least(win.used, c.capacity));
    ELSE
        bucket := ratelimit_bucket(c, now);
        PERFORM ratelimit_put(c, bucket.full_at, bucket.early);
    END IF;
END $$;

-- ratelimit_take decides all claims, whose keys differ, and charges all or none. Reservation i belongs to claim of[i].
CREATE FUNCTION ratelimit_take(claims ratelimit_claim[], of int[], ids bytea[], units bigint[], clock bigint)
RETURNS SETOF ratelimit_status LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    c       ratelimit_claim;
    s       ratelimit_status;
    answers ratelimit_status[];
    span    record;
    now     bigint;
    refused boolean := false;
BEGIN
    PERFORM ratelimit_lock(ARRAY(SELECT key FROM unnest(claims)));
    now := ratelimit_now(clock); -- after the wait for the locks, so that times along a key do not run backwards
    FOREACH c IN ARRAY claims LOOP
        s := ratelimit_decide(c, now);
        refused := refused OR NOT s.allowed;
        answers := answers || s;
    END LOOP;
    IF refused THEN
        FOREACH c IN ARRAY claims LOOP
            PERFORM ratelimit_adopt(c, now);
        END LOOP;
        RETURN QUERY SELECT * FROM unnest(answers);
        RETURN;
    END IF;
    -- COMMIT does not wait for the disk. A crash of the server may lose the last fraction of a second of counts; the
    -- caller gets its answer in microseconds.
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR i IN 1 .. cardinality(claims) LOOP
        c := claims[i];
        IF c.cost > 0 THEN
            span := ratelimit_charge(c, now);
            INSERT INTO ratelimit_reservations AS r (key, id, units, taken, until)
            SELECT c.key, n.id, n.units, span.taken, span.until
            FROM unnest(of, ids, units) AS n (of, id, units)
            WHERE n.of = i
            ON CONFLICT (key, id) DO UPDATE
            SET units = r.units + excluded.units, taken = excluded.taken, until = excluded.until;
        END IF;
        c.cost := 0;
        RETURN NEXT ratelimit_decide(c, now);
    END LOOP;
END $$;

-- ratelimit_peek decides as ratelimit_take does, and neither locks nor writes.
CREATE FUNCTION ratelimit_peek(claims ratelimit_claim[], clock bigint) RETURNS SETOF ratelimit_status LANGUAGE plpgsql AS $$
DECLARE
    c   ratelimit_claim;
    now bigint := ratelimit_now(clock);
BEGIN
    FOREACH c IN ARRAY claims LOOP
        RETURN NEXT ratelimit_decide(c, now);
    END LOOP;
END $$;

-- ratelimit_give puts back at most cost units of each claim's reservation, once.
CREATE FUNCTION ratelimit_give(claims ratelimit_claim[], ids bytea[], clock bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c   ratelimit_claim;
    r   ratelimit_reservations;
    now bigint;
BEGIN
    PERFORM ratelimit_lock(ARRAY(SELECT key FROM unnest(claims)));
    now := ratelimit_now(clock);
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR i IN 1 .. cardinality(claims) LOOP
        c := claims[i];
        DELETE FROM ratelimit_reservations AS d WHERE d.key = c.key AND d.id = ids[i] RETURNING * INTO r;
        IF FOUND AND r.until > now THEN
            PERFORM ratelimit_return(c, now, r.taken, least(c.cost, r.units));
        END IF;
    END LOOP;
END $$;

-- ratelimit_return puts units back that were counted at an instant, where they still count.
CREATE FUNCTION ratelimit_return(c ratelimit_claim, now bigint, taken bigint, amount bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    bucket record;
    win    record;
    log    record;
    ticks  bigint;
BEGIN
    CASE c.algorithm
    WHEN 'bucket' THEN
        bucket := ratelimit_bucket(c, now);
        ticks := bucket.early + least(amount, c.capacity) * c.unit;
        IF bucket.full_at - ticks / c.micro <= now THEN
            DELETE FROM ratelimit_counts WHERE key = c.key;
        ELSE
            PERFORM ratelimit_put(c, bucket.full_at - ticks / c.micro, ticks % c.micro);
        END IF;
    WHEN 'window' THEN
        win := ratelimit_window(c, now);
        IF taken <> win.ends - 1 THEN -- as ratelimit_charge noted it
            RETURN;
        ELSIF win.used <= amount THEN
            DELETE FROM ratelimit_counts WHERE key = c.key;
        ELSE
            PERFORM ratelimit_put(c, win.ends, win.used - amount);
        END IF;
    WHEN 'log' THEN
        log := ratelimit_log_state(c, now);
        DELETE FROM ratelimit_log l WHERE l.key = c.key AND (l.at <= log.gone OR l.at = taken AND l.units <= amount);
        UPDATE ratelimit_log l SET units = l.units - amount WHERE l.key = c.key AND l.at = taken AND l.units > amount;
    END CASE;
END $$;

-- ratelimit_reset forgets keys and their reservations.
CREATE FUNCTION ratelimit_reset(keys bytea[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM ratelimit_lock(keys);
    DELETE FROM ratelimit_counts WHERE key = ANY (keys);
    DELETE FROM ratelimit_log WHERE key = ANY (keys);
    DELETE FROM ratelimit_reservations WHERE key = ANY (keys);
END $$;
