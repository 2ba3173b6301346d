### deadline
SELECT count(*) FROM range(1000000000000)
### deadline
SELECT sum(i) FROM generate_series(1, 9000000000000000000) t(i)
### deadline
SELECT i FROM range(1000000000000) t(i) WHERE i < 0
### deadline
SELECT count(*) FROM range(TIMESTAMP '1000-01-01', TIMESTAMP '9000-01-01', INTERVAL 1 MICROSECOND)
### deadline
SELECT count(*) FROM range(1000000) a, range(1000000) b
### deadline
SELECT count(*) FROM lab.events a, lab.events b, lab.events c
### deadline
SELECT count(*) FROM lab.events a JOIN lab.events b ON a.value < b.value JOIN lab.events c ON b.value > c.value
### deadline|memory
SELECT count(*) FROM lab.events a JOIN lab.events b ON a.id <> b.id JOIN lab.events c ON b.id <> c.id
### deadline|memory
SELECT count(*) FROM lab.events a JOIN lab.events b ON a.kind LIKE b.kind || '%' JOIN lab.events c ON c.kind LIKE a.kind
### deadline
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r
### deadline
WITH RECURSIVE r AS (SELECT 1::BIGINT AS i UNION SELECT (i * 3 + 1) % 1000000007 FROM r) SELECT max(i) FROM r
### deadline
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i FROM r) SELECT * FROM r WHERE i < 0
### deadline|memory
WITH RECURSIVE r AS (SELECT id FROM lab.events UNION ALL SELECT r.id + 1 FROM r) SELECT count(*) FROM r
### deadline
SELECT sum(sin(i) * cos(i)) FROM range(1000000000000) t(i)
### deadline
SELECT count(*) FROM range(1000000000000) WHERE random() < -1
### deadline
SELECT max(md5(i::VARCHAR)) FROM range(1000000000000) t(i)
### deadline
SELECT count(*) FROM range(1000000000) t(i) WHERE regexp_matches(i::VARCHAR, '(1|2|3)*9$')
### deadline|memory
SELECT count(*) FROM (SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN 1000000 PRECEDING AND 1000000 FOLLOWING) FROM range(1000000000) t(i))
### deadline|memory
SELECT count(*) FROM (SELECT median(i) OVER (ORDER BY i ROWS BETWEEN 100000 PRECEDING AND 100000 FOLLOWING) AS m FROM range(3000000) t(i)) WHERE m < 0
### deadline|memory
SELECT count(*) FROM (SELECT mode(i % 1000) OVER (ORDER BY i ROWS BETWEEN 100000 PRECEDING AND 100000 FOLLOWING) AS m FROM range(3000000) t(i)) WHERE m < 0
### deadline|memory
SELECT count(*) FROM (SELECT quantile_disc(i, 0.3) OVER (ORDER BY hash(i) ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW) AS m FROM range(3000000) t(i)) WHERE m < 0
### deadline|memory
SELECT count(*) FROM (SELECT count(DISTINCT i % 1000) OVER (ORDER BY i) AS m FROM range(30000000) t(i)) WHERE m < 0
### deadline|memory
SELECT count(*) FROM (SELECT sum(i) OVER (ORDER BY i RANGE BETWEEN 1000000 PRECEDING AND 1000000 FOLLOWING EXCLUDE TIES) AS m FROM range(100000000) t(i)) WHERE m < 0
### deadline|memory
SELECT count(*) FROM lab.events a ASOF JOIN (SELECT i AS value FROM range(1000000000) t(i)) b ON a.value >= b.value
### deadline|memory
SELECT count(*) FROM range(1000000000000) a POSITIONAL JOIN range(1000000000000) b
### deadline|memory
SELECT count(*) FROM lab.events a, LATERAL (SELECT count(*) AS n FROM lab.events b WHERE b.value < a.value) l WHERE l.n < 0
### deadline|memory
SELECT (SELECT count(*) FROM lab.events b, lab.events c WHERE b.value < a.value AND c.value > a.value) FROM lab.events a
### fine|deadline|memory
SELECT count(*) FROM lab.events a WHERE EXISTS (SELECT 1 FROM lab.events b WHERE b.value < a.value AND EXISTS (SELECT 1 FROM lab.events c WHERE c.value + a.value > b.value))
### deadline|memory
SELECT a.id FROM lab.events a, lab.events b ORDER BY a.value * b.value LIMIT 10
### deadline
SELECT count(*) FROM lab.events a, lab.events b WHERE levenshtein(a.kind || a.id, b.kind || b.id) = 1
### deadline
SELECT count(*) FROM lab.events a, lab.events b WHERE jaro_winkler_similarity(a.kind || a.id, b.kind || b.id) > 2
### deadline
SELECT count(*) FROM range(100000000) t(i) WHERE list_sum(range(i % 1000)) < 0
### deadline|memory
SELECT sum(list_sum(range(least(i, 1000000)))) FROM range(1000000000) t(i)
### deadline|memory
SELECT max(list_sort(list_transform(range(100000), lambda x: hash(x + i)))) FROM range(1000000) t(i)
### deadline
SELECT count(*) FROM range(10000000000000) USING SAMPLE 1 ROWS
### deadline|memory
SELECT * FROM range(10000000000) USING SAMPLE reservoir(1000000000 ROWS)
### fine|deadline
SELECT count(*) FROM (FROM lab.events LIMIT 9000000000000000000 OFFSET 1)
### fine|deadline
SELECT * FROM range(1000000000000) LIMIT 3
### deadline
SELECT * FROM range(1000000000000) OFFSET 900000000000
### deadline|memory
SELECT * FROM range(1000000000000) ORDER BY 1 DESC LIMIT 3
### deadline|memory
SELECT a.i FROM range(1000000000) a(i), range(1000000000) b(j) GROUP BY a.i HAVING count(*) < 0
### deadline
SELECT count(*) FROM (SELECT unnest(range(1000000)) FROM range(1000000))
### deadline|memory
SELECT DISTINCT ON (i % 10) i FROM range(1000000000000) t(i) ORDER BY i DESC
### deadline
SELECT count(*) FROM (FROM range(1000000000000) UNION ALL FROM range(1000000000000))
### deadline|memory
(FROM range(1000000000000)) INTERSECT (FROM range(1000000000000))
### deadline
SELECT any_value(i) FROM range(1000000000000) t(i) WHERE i = -1
### fine|deadline
SELECT count(*) FROM range(1000000000000) a(i) WHERE i IN (SELECT id FROM lab.events WHERE id < 0)
### deadline
SELECT sum(CASE WHEN i % 2 = 0 THEN 1 ELSE factorial((i % 20)::INTEGER) END) FROM range(1000000000000) t(i)
### deadline
SELECT sum(strptime('2026-01-0' || (i % 9 + 1), '%Y-%m-%d')::DATE - DATE '2026-01-01') FROM range(1000000000000) t(i)
### deadline
SELECT count(*) FROM range(1000000000000) t(i) WHERE (i::VARCHAR::JSON)::VARCHAR = 'x'
### deadline|memory
PIVOT (SELECT i, i % 3 AS m FROM range(10000000000) t(i)) ON m IN (0, 1, 2) USING sum(i) GROUP BY i
### deadline|memory
SELECT a.i + b.i FROM range(10000000) a(i), range(10000000) b(i)
