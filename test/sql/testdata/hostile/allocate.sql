### refused : at most 1000000
SELECT repeat('x', 1000000000000)
### refused : write least
SELECT repeat(name, id) FROM lab.robots
### refused : too large
SELECT repeat(repeat('x', 1000000), 1000000)
### refused : write least
SELECT repeat('x', (SELECT 1000000000))
### refused : at most 1000000
SELECT lpad('x', 2000000000, 'y')
### refused : at most 1000000
SELECT rpad('x', 2000000000, 'y')
### refused : at most 1000000 elements
SELECT range(1000000000000)
### refused : at most 1000000 elements
SELECT unnest(generate_series(1, 1000000000))
### refused : bounded integers
SELECT range(TIMESTAMP '2000-01-01', TIMESTAMP '2030-01-01', INTERVAL 1 MICROSECOND)
### refused : at most 1000000
SELECT list_resize([1], 4000000000)
### refused : at most 4 digits
SELECT format('{:>1000000000}', 1)
### refused : at most 4 digits
SELECT printf('%1000000000d', 1)
### refused : at most 4 digits
SELECT printf('%*d', 1000000000, 1)
### refused : at most 1000000
SELECT bitstring('1', 4000000000)
### refused : at most 10000
SELECT max(id, 1000000000) FROM lab.events
### refused : at most 10000
SELECT approx_top_k(id, 1000000000) FROM lab.events
### refused : at most 10000
SELECT to_base(1, 2, 1000000000)
### refused : at most 10000
SELECT bar(1, 0, 1, 1000000000)
### memory|deadline
SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)
### memory|deadline
SELECT list(i) FROM range(10000000000) t(i)
### memory|deadline
SELECT length(string_agg(a.kind || b.kind, ',')) FROM lab.events a, lab.events b
### memory|deadline
SELECT len(list(repeat('x', 1000))) FROM range(100000000)
### memory|deadline
SELECT count(*) FROM (SELECT i, count(*) FROM range(10000000000) t(i) GROUP BY i)
### memory|deadline
SELECT count(DISTINCT i::VARCHAR || repeat('x', 100)) FROM range(10000000000) t(i)
### memory|deadline
SELECT * FROM (SELECT i FROM range(10000000000) t(i) ORDER BY hash(i)) LIMIT 5 OFFSET 1000000000
### memory|deadline
SELECT histogram(i) FROM range(10000000000) t(i)
### memory|deadline
SELECT mode(i) FROM range(10000000000) t(i)
### memory|deadline
SELECT median(i) FROM range(10000000000) t(i)
### memory|deadline
SELECT quantile_cont(i, [0.1, 0.5, 0.9]) FROM range(10000000000) t(i)
### memory|deadline
SELECT entropy(i) FROM range(10000000000) t(i)
### memory|deadline
SELECT map_from_entries(list((i, i))) FROM range(100000000) t(i)
### memory|deadline
SELECT count(*) FROM (SELECT list(i) OVER (ORDER BY i) AS l FROM range(1000000) t(i)) WHERE len(l) < 0
### memory|deadline
SELECT max(len(l)) FROM (SELECT string_agg(i::VARCHAR, ',') OVER (ORDER BY i) AS l FROM range(1000000) t(i))
### memory|deadline
SELECT count(*) FROM range(100000000) a(i) JOIN range(100000000) b(j) ON i = j
### memory|deadline
SELECT count(*) FROM (SELECT DISTINCT i, i + 1 AS j FROM range(10000000000) t(i))
### memory|deadline
SELECT count(*) FROM (SELECT i FROM range(10000000000) t(i) EXCEPT SELECT 5)
### memory|deadline
SELECT row_number() OVER (ORDER BY hash(i)) FROM range(10000000000) t(i)
### memory|deadline|invalid
WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r
### memory|deadline
WITH RECURSIVE r AS (SELECT [1] AS s UNION ALL SELECT list_concat(s, s) FROM r) SELECT max(len(s)) FROM r
### memory|deadline
WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r, range(100)) SELECT count(*) FROM r
### memory|deadline
SELECT unnest(range(1000000)), unnest(range(1000000)), a FROM range(1000000) t(a) ORDER BY hash(a)
### memory|deadline
SELECT count(*) FROM range(1000) t(i), unnest(range(1000000)) u(x) GROUP BY i, x
### refused : too large
SELECT list_transform(range(1000000), lambda x: repeat('a', 1000000))
### refused : too large
SELECT list_transform(range(1000000), lambda x: range(1000000))
### refused : too large
SELECT flatten(list_transform(range(1000), lambda x: range(1000000)))
### refused : too large
SELECT list_transform(range(1000), lambda x: list_transform(range(1000), lambda y: list_transform(range(1000), lambda z: x + y + z)))
### fine|memory|deadline|invalid isolate
SELECT length(list_reduce(list_transform(range(60), lambda x: 'x'), lambda a, b: a || a))
### fine|memory|deadline|invalid isolate
SELECT len(list_reduce(list_transform(range(60), lambda x: [x]), lambda a, b: list_concat(a, a)))
### refused : too large
SELECT length(replace(repeat('a', 1000000), 'a', repeat('b', 1000000)))
### refused : too large
SELECT length(regexp_replace(repeat('a', 1000000), 'a', repeat('b', 1000000), 'g'))
### refused : too large
SELECT length(array_to_string(list_transform(range(1000000), lambda x: 'x'), repeat('b', 1000000)))
### refused|deadline : add up
SELECT length(concat({{x "repeat('x', 1000000), " 5000}}''))
### memory|deadline|invalid|fine
SELECT length(concat_ws(repeat('x', 1000000){{x ", 'a'" 5000}}))
### invalid|memory|deadline|fine isolate
SELECT len(string_split(repeat('a,', 500000), ',')), len(string_split(repeat('a', 1000000), ''))
### invalid|memory|deadline|fine isolate
SELECT len(regexp_extract_all(repeat('ab', 500000), 'a')), len(regexp_split_to_array(repeat('ab', 500000), 'b'))
### memory|deadline
SELECT max(length(to_json(list))) FROM (SELECT list(repeat('x', 10000)) AS list FROM range(1000000))
### memory|deadline
SELECT json_group_array(repeat('x', 10000)) FROM range(1000000)
### memory|deadline
SELECT json_group_object(i, repeat('x', 10000)) FROM range(1000000) t(i)
### invalid|memory|deadline|fine isolate
SELECT strftime(now(), repeat('%A', 500000)) IS NULL
### refused : given in the text
SELECT length(printf(repeat('%9999d', 100000){{x ", 1" 10}}))
### fine|invalid|memory|deadline isolate
SELECT max(hex(repeat('x', 1000000))) FROM range(1000000)
### refused : too large
SELECT length(translate(repeat('a', 1000000), 'a', repeat('b', 1000000)))
### fine|memory|deadline
SELECT sum(length(url_encode(repeat(' ', 1000000)))) FROM range(1000000)
### invalid|memory|deadline|fine isolate
SELECT list_zip(range(1000000), range(1000000), range(1000000), range(1000000)) IS NULL
### refused : too large
SELECT len(list_resize(['x'], 1000000, repeat('x', 1000000)))
### fine|memory|deadline|invalid isolate
SELECT array_agg(l) FROM (SELECT range(1000000) AS l FROM range(10000))
### memory|deadline
SELECT payload, repeat(payload::VARCHAR, 1000000) FROM lab.events
### fine|invalid|memory|deadline isolate
SELECT sum(length(repeat(task, 1000000))) FROM lab.episodes
### fine|invalid|memory|deadline isolate
SELECT repeat('x', 1000000) FROM lab.events
### memory|deadline
SELECT lpad(kind, 1000000, 'x') AS p, count(*) FROM lab.events GROUP BY p, id
### fine|invalid|memory|deadline isolate
SELECT arg_max(repeat('x', 1000000), i) FROM range(100000) t(i) GROUP BY i
### memory|deadline
SELECT first(repeat('x', 1000000)) FROM range(1000000) t(i) GROUP BY i
### memory|deadline
SELECT min(repeat('x', 100000) || i) FROM range(10000000) t(i) GROUP BY i
### refused : too large
SELECT list_sort(list_transform(range(1000000), lambda x: repeat('x', 100) || x)) IS NULL
### memory|deadline
SELECT count(*) FROM (SELECT repeat('x', 100000) AS a, i FROM range(1000000) t(i)) x JOIN (SELECT repeat('x', 100000) AS a, i FROM range(1000000) t(i)) y USING (a)
### memory|deadline
SELECT count(*) FROM (SELECT repeat('x', 100000) || i AS a FROM range(1000000) t(i) UNION SELECT repeat('y', 100000) || i FROM range(1000000) t(i))
### memory|deadline
SELECT lag(repeat('x', 100000)) OVER (ORDER BY i) FROM range(1000000) t(i)
### invalid|memory|deadline
SELECT bitstring_agg(i) FROM range(2000000000) t(i)
### memory|deadline|invalid
SELECT bitstring_agg(i, 0, 9000000000000000000) FROM range(10) t(i)
### fine|memory|deadline|invalid isolate
SELECT approx_quantile(i, {{x "[0.5," 1}}{{x "0.5," 5000}}0.5]) FROM range(10000000000) t(i)
### memory|deadline|fine
SELECT len(list_distinct(list_transform(range(1000000), lambda x: x % 1000003)))
### fine|memory|deadline|invalid isolate
SELECT length(repeat('x', 1000000)::BLOB::VARCHAR::JSON::VARCHAR)
