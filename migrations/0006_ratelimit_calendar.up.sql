-- Days and months of a time zone, for package internal/ratelimit/pgstore.
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
