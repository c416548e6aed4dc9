DELETE FROM ratelimit_counts WHERE unit >= 1000000000000000; -- calendar windows

-- ratelimit_window reads a window: the one now falls in, or a later one that was already counted in.
CREATE OR REPLACE FUNCTION ratelimit_window(c ratelimit_claim, now bigint, OUT ends bigint, OUT used bigint) LANGUAGE plpgsql AS $$
DECLARE
    r ratelimit_counts;
BEGIN
    SELECT * INTO r FROM ratelimit_counts WHERE key = c.key;
    ends := r.until;
    used := r.a;
    IF r.unit <> c.unit THEN -- the period has changed
        ends := least(ends, now - now % c.unit + c.unit);
    END IF;
    IF ends IS NULL OR ends <= now THEN
        ends := now - now % c.unit + c.unit;
        used := 0;
    END IF;
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
        IF taken - taken % c.unit + c.unit <> win.ends THEN
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

DROP FUNCTION ratelimit_adopt;
DROP FUNCTION ratelimit_window_end;
