-- Days and months of a time zone, and limits that change, for package internal/ratelimit/pgstore.
--
-- The database is told two successive boundaries and decides between them by its own clock: see ratelimit.Limit.Bounds.
-- A window claim whose micro is 0 has a period in unit; else unit and micro are those boundaries. A row keeps what its
-- claim said.

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
CREATE OR REPLACE FUNCTION ratelimit_window(c ratelimit_claim, now bigint, OUT ends bigint, OUT used bigint) LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE FUNCTION ratelimit_take(claims ratelimit_claim[], of int[], ids bytea[], units bigint[], clock bigint)
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

-- ratelimit_return puts units back that were counted at an instant, where they still count.
CREATE OR REPLACE FUNCTION ratelimit_return(c ratelimit_claim, now bigint, taken bigint, amount bigint) RETURNS void LANGUAGE plpgsql AS $$
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
