-- The records. Keys and values are bytes: text would refuse NUL and could
-- collate, and a comparison of bytea is one of bytes.
CREATE TABLE {{schema}}.record (
    key   bytea PRIMARY KEY,
    value bytea NOT NULL
);

-- The transactions of the recent past, by token.
CREATE TABLE {{schema}}.token (
    token   bytea PRIMARY KEY,
    digest  bytea NOT NULL,
    created timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX token_created ON {{schema}}.token (created);

-- commit_txn is one transaction of the metastore, in one round trip.
--
-- p_locks are hashes of the keys and of the token, ascending and distinct, so
-- that no two calls wait for each other. A lock is exclusive where the call
-- writes and shared where it only guards. Locks of hashes rather than of rows
-- cover keys that are absent as well, leave guarded rows clean, and end with
-- the transaction, so they work behind a transaction pooler.
--
-- Every statement after the locks has a snapshot of its own, as READ COMMITTED
-- promises, and so sees what the lock's holder before left.
CREATE FUNCTION {{schema}}.commit_txn(
    p_locks bigint[], p_exclusive boolean[],
    p_keys bytea[], p_expect bytea[], p_effect smallint[], p_value bytea[],
    p_token bytea, p_digest bytea,
    OUT verdict text, OUT conflict_key bytea, OUT current_value bytea
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known   bytea;
    changed bigint;
    puts    bigint;
    deletes bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'commit_txn needs READ COMMITTED, not %', current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    FOR i IN 1 .. cardinality(p_locks) LOOP
        IF p_exclusive[i] THEN
            PERFORM pg_advisory_xact_lock(p_locks[i]);
        ELSE
            PERFORM pg_advisory_xact_lock_shared(p_locks[i]);
        END IF;
    END LOOP;

    SELECT t.digest INTO known FROM {{schema}}.token t WHERE t.token = p_token;
    IF FOUND THEN
        verdict := CASE WHEN known = p_digest THEN 'repeated' ELSE 'reused' END;
        RETURN;
    END IF;

    SELECT 'conflict', k.key, r.value INTO verdict, conflict_key, current_value
    FROM unnest(p_keys, p_expect) WITH ORDINALITY AS k (key, expect, n)
    LEFT JOIN {{schema}}.record r ON r.key = k.key
    WHERE r.value IS DISTINCT FROM k.expect
    ORDER BY k.n LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;

    SELECT count(*) FILTER (WHERE e = 1), count(*) FILTER (WHERE e = 2) INTO puts, deletes FROM unnest(p_effect) AS e;
    IF deletes > 0 THEN
        DELETE FROM {{schema}}.record r USING unnest(p_keys, p_effect) AS k (key, effect)
        WHERE r.key = k.key AND k.effect = 2;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> deletes THEN
            RAISE EXCEPTION 'deleted % of % records', changed, deletes USING ERRCODE = 'data_corrupted';
        END IF;
    END IF;
    IF puts > 0 THEN
        INSERT INTO {{schema}}.record (key, value)
        SELECT k.key, k.value FROM unnest(p_keys, p_effect, p_value) AS k (key, effect, value) WHERE k.effect = 1
        ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> puts THEN
            RAISE EXCEPTION 'put % of % records', changed, puts USING ERRCODE = 'data_corrupted';
        END IF;
    END IF;
    INSERT INTO {{schema}}.token (token, digest) VALUES (p_token, p_digest);
    verdict := 'applied';
END
$$;
