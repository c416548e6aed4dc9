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

DROP FUNCTION ratelimit_window_end;
