### fine|deadline|memory isolate
SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))
### fine|deadline|memory isolate
SELECT damerau_levenshtein(repeat('ab', 50000), repeat('ba', 50000))
### fine|deadline|memory
SELECT jaro_similarity(repeat('ab', 500000), repeat('ba', 500000))
### fine|deadline|memory
SELECT jaccard(repeat('ab', 500000), repeat('ba', 500000))
### fine|deadline isolate
SELECT repeat('a', 1000) LIKE '{{x "%a" 12}}b'
### fine|deadline isolate
SELECT repeat('a', 1000) GLOB '{{x "*a" 12}}b'
### fine|deadline isolate
SELECT count(*) FROM lab.events WHERE repeat(kind, 1000) LIKE '{{x "%t_" 12}}#'
### fine|deadline|memory
SELECT regexp_matches(repeat('a', 1000000), '(a*)*b')
### invalid|refused
SELECT regexp_matches('a', '((a{0,1000}){0,1000}){0,1000}')
### fine|invalid|refused
SELECT regexp_matches('a', '{{x "(" 2000}}a{{x ")" 2000}}')
### fine|invalid|deadline
SELECT regexp_matches(repeat('a', 1000000), '{{x "a?" 5000}}{{x "a" 5000}}')
### fine|invalid|deadline
SELECT regexp_replace(repeat('a', 1000000), '(a?){1000}', 'x', 'g') IS NULL
### fine|invalid|deadline
SELECT repeat('a', 1000000) SIMILAR TO '(a|aa)+b'
### fine|invalid|memory|deadline|contained isolate
SELECT json_structure(repeat('[', 500000) || repeat(']', 500000))
### fine|invalid|memory|deadline|contained isolate
SELECT json_valid(repeat('[', 500000) || repeat(']', 500000))
### fine|invalid|memory|deadline|contained isolate
SELECT (repeat('[', 500000) || repeat(']', 500000))::JSON::VARCHAR
### fine|invalid|memory|deadline|contained isolate
SELECT json_pretty(repeat('[', 500000) || repeat(']', 500000)) IS NULL
### fine|invalid|memory|deadline|contained isolate
SELECT json_merge_patch(repeat('{"a":', 200000) || '1' || repeat('}', 200000), repeat('{"a":', 200000) || '2' || repeat('}', 200000)) IS NULL
### fine|invalid|memory|deadline|contained isolate
SELECT from_json(repeat('[', 500000) || repeat(']', 500000), '["INTEGER"]')
### fine|invalid|memory|deadline|contained isolate
SELECT json_keys(repeat('{"a":', 200000) || '1' || repeat('}', 200000))
### fine|invalid|memory|deadline
SELECT (repeat('[', 500000) || repeat(']', 500000))::INTEGER[]
### fine|invalid|memory|deadline
SELECT (repeat('{''a'':', 100000) || '1' || repeat('}', 100000))::STRUCT(a INTEGER)
### fine|invalid|refused
SELECT json_extract('{}', '$' || repeat('.a', 100000))
### fine|invalid|refused
SELECT json_extract('{}', '$' || repeat('[0]', 100000))
### invalid|fine|deadline|memory|refused
SELECT count(*) FROM lab.robots GROUP BY CUBE (id, name, model, weight, born, id + 1, id + 2, id + 3, id + 4, id + 5, id + 6, id + 7, id + 8, id + 9, id + 10)
### invalid|refused
SELECT count(*) FROM lab.robots GROUP BY CUBE ({{n "id + #, " 30}}id)
### invalid|refused
SELECT count(*) FROM lab.robots GROUP BY CUBE (id, name, model, weight), CUBE (born, id + 1, id + 2, id + 3), CUBE (id + 4, id + 5, id + 6, id + 7), CUBE (id + 8, id + 9, id + 10, id + 11), CUBE (id + 12, id + 13, id + 14, id + 15)
### fine|deadline|memory
SELECT count(*) FROM lab.robots a{{n " JOIN lab.robots t# ON a.id = t#.id" 31}}
### fine|deadline|memory
SELECT count(*) FROM lab.robots a, lab.robots b, lab.robots c, lab.robots d, lab.robots e, lab.robots f, lab.robots g, lab.robots h WHERE a.id = b.id AND a.id = c.id AND a.id = d.id AND b.id = c.id AND b.id = d.id AND c.id = d.id AND d.id = e.id AND e.id = f.id AND a.id = f.id AND f.id = g.id AND g.id = h.id AND a.id = h.id AND b.id = h.id AND c.id = g.id AND d.id = h.id
### fine|deadline|memory
SELECT {{n "sum(id + #), " 3000}}1 FROM lab.robots
### fine|deadline|memory
SELECT {{n "lag(id, #) OVER (ORDER BY id), " 500}}1 FROM lab.robots
### refused|fine|deadline|memory
SELECT CASE {{n "WHEN id = # THEN #+1 " 3000}}END FROM lab.robots
### fine|deadline|memory
SELECT count(*) FROM lab.events WHERE id IN ({{n "#," 15000}}1)
### fine|deadline|memory
SELECT count(*) FROM lab.events WHERE {{n "value <> # AND " 3000}}true
### fine|deadline|memory
SELECT count(*) FROM lab.events WHERE {{n "kind LIKE '%#%' OR " 2000}}false
### fine|deadline|memory
SELECT * FROM lab.robots ORDER BY {{n "id + #, " 2000}}id
### fine|deadline|memory
SELECT DISTINCT {{n "id + #, " 2000}}id FROM lab.robots
### fine|deadline|memory
SELECT {{n "*, " 500}}1 FROM lab.robots
### fine|deadline|memory|invalid
SELECT {{n "(SELECT max(id) FROM lab.robots r WHERE r.id < s.id + #), " 30}}1 FROM lab.robots s
### fine|deadline|memory
VALUES {{n "(#, 'a', [#])," 2000}}(1, 'a', [1])
### refused|fine|deadline|memory
SELECT {{n "list_sum(range(1000000)) + # AS s#, " 100}}1
### refused|fine|deadline|memory
SELECT {{n "length(repeat('x', 1000000 - #)) AS s#, " 500}}1
### fine|deadline|memory
SELECT list_cosine_similarity(range(1000000)::DOUBLE[], range(1000000)::DOUBLE[])
### fine|deadline|memory
SELECT len(list_intersect(range(1000000), range(1000000))), len(list_where(range(1000000), list_transform(range(1000000), lambda x: true)))
### fine|deadline|memory
SELECT list_has_all(range(1000000), range(1000000)), list_position(range(1000000), 999999)
### invalid
SELECT factorial(1000000)
### invalid
SELECT 170141183460469231731687303715884105727::HUGEINT + 1
### invalid|fine
SELECT 9223372036854775807 * 9223372036854775807 * 9223372036854775807
### invalid|fine
SELECT 1e38::DECIMAL(38,0) * 1e38::DECIMAL(38,0)
### fine|invalid
SELECT 1 / 0, 0.0 / 0.0, sqrt(-1::DOUBLE) IS NULL
### invalid
SELECT DATE '2026-01-01' + 2147483647
### invalid
SELECT TIMESTAMP '2026-01-01' + INTERVAL 2147483647 YEAR
### invalid
SELECT make_date(999999999, 1, 1)
### invalid|fine
SELECT to_timestamp(1e300)
### fine|invalid
SELECT date_trunc('century', TIMESTAMP '290309-12-22 (BC) 00:00:00'), epoch_ns(TIMESTAMP '9999-01-01')
### fine|invalid
SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::FLOAT, ln(1e-300), exp(100)
### fine|invalid
SELECT chr(1114111), chr(0), unicode('')
### invalid|fine
SELECT chr(-1)
### invalid|fine
SELECT decode('\xFF'::BLOB)
### fine|invalid
SELECT '\xFF\x00'::BLOB, encode('ä')
### invalid
SELECT CAST('x' AS INTEGER)
### refused|invalid
SELECT * FROM lab.robots WHERE no_such_column = 1
### refused|invalid
SELECT sum(name) FROM lab.robots
### refused|invalid
SELECT max(id) FROM lab.robots WHERE max(id) > 1
### invalid|fine
SELECT (SELECT id FROM lab.robots)
### fine|invalid
SELECT error('boom') FROM lab.robots
### refused|invalid|fine
SELECT list_aggregate(range(1000000), 'string_agg', repeat('x', 1000000)) IS NULL
### invalid|fine|memory
SELECT array_value({{x "1," 5000}}1)::INTEGER[5001] IS NULL
### invalid|refused
SELECT NULL::INTEGER[1000000000]
### invalid|refused
SELECT NULL::DECIMAL(100,50)
### invalid|refused
SELECT 1 COLLATE nosuch
### fine|invalid
SELECT 'a' < 'b' COLLATE DE, timezone('Nowhere/Nothing', now())
