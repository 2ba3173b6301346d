### refused : no statement

### refused : no statement
-- nothing but a comment
### refused : no statement
;;;
### refused : NUL
SELECT '{{byte 0}}'
### refused : at most 1048576
SELECT '{{x "x" 1048576}}'
### refused
SELECT {{x "(" 500000}}
### fine
SELECT {{x "(" 3000}}1{{x ")" 3000}}
### refused
SELECT {{x "abs(" 300}}1{{x ")" 300}}
### refused
SELECT {{x "NOT " 5000}}true
### refused
SELECT 1{{x "+1" 300}}
### refused
SELECT {{x "-" 2000}}1
### refused : at most 8000
SELECT true{{x " AND true" 9000}}
### refused : words and signs
SELECT 1 WHERE 1=1{{x " OR 2=2" 100000}}
### refused : at most 256
SELECT 1{{x " UNION ALL SELECT 1" 14000}}
### refused|deadline
SELECT 1{{x " UNION SELECT 1 EXCEPT SELECT 2" 120}}
### refused|deadline
SELECT [{{x "1," 25000}}1]
### refused
SELECT [{{x "1," 50000}}1]
### refused
SELECT {{x "[" 1000}}1{{x "]" 1000}}
### refused
SELECT {{x "{'a': " 1000}}1{{x "}" 1000}}
### refused
SELECT {{x "CASE WHEN true THEN " 400}}1{{x " END" 400}}
### refused
SELECT {{x "(SELECT " 300}}1{{x ")" 300}}
### refused
SELECT * FROM {{x "(SELECT * FROM " 300}}lab.robots{{x ")" 300}}
### refused
SELECT 1 WHERE {{x "EXISTS (SELECT 1 WHERE " 250}}true{{x ")" 250}}
### refused : at most 32 joins
SELECT * FROM lab.robots r{{n ", lab.robots r#" 40}}
### refused : at most 3 deep
SELECT {{x "list_transform([1], lambda x: " 4}}1{{x ")" 4}}
### refused : expand to more than
WITH c0 AS (SELECT 1), c1 AS (FROM c0 UNION ALL FROM c0), c2 AS (FROM c1 UNION ALL FROM c1), c3 AS (FROM c2 UNION ALL FROM c2), c4 AS (FROM c3 UNION ALL FROM c3), c5 AS (FROM c4 UNION ALL FROM c4), c6 AS (FROM c5 UNION ALL FROM c5), c7 AS (FROM c6 UNION ALL FROM c6) FROM c7
### refused : too large for a DOUBLE
SELECT 1e999
### refused : too large for a DOUBLE
SELECT {{x "9" 10000}}
### fine|invalid
SELECT 0x{{x "F" 10000}}
### fine|invalid
SELECT 0.{{x "1" 100000}}
### refused : unterminated
SELECT 'no end
### refused : unterminated
SELECT "no end
### refused
SELECT $$no end
### refused : comments
SELECT 1 {{x "/*" 100000}}
### refused : comments
SELECT 1 {{x "/*" 50000}}{{x "*/" 50000}}
### fine|refused
{{x " " 1000000}}SELECT 1
### fine
SELECT '{{x "and or union " 60000}}' AS t
### fine
SELECT 1 AS "{{x "long" 10000}}"
### invalid : namespace.table
SELECT * FROM "{{x "t" 10000}}"
### refused
SELECT * FROM {{x "a." 1000}}a
### refused
SELECT {{x "a." 5000}}a FROM lab.robots
### refused
SELECT a{{x "[1]" 5000}} FROM lab.robots
### refused
SELECT 1{{x "::INTEGER" 5000}}
### refused
SELECT 1::{{x "STRUCT(a " 500}}INTEGER{{x ")" 500}}
### refused|invalid
SELECT NULL::INTEGER{{x "[]" 5000}}
### refused
SELECT 'a'{{x " COLLATE NOCASE" 5000}}
### refused
SELECT 1{{x " BETWEEN 0 AND 1" 3000}}
### refused
SELECT 1{{x " IS NULL" 5000}}
### refused
SELECT 'a'{{x " || 'a'" 5000}}
### refused
SELECT * FROM range(1){{n " JOIN range(1) t# USING (range)" 100}}
### fine
WITH RECURSIVE {{n "r# AS (SELECT 1 UNION ALL SELECT * FROM r#), " 200}}z AS (SELECT 1) FROM z
### refused
EXPLAIN EXPLAIN SELECT 1
### refused
DESCRIBE EXPLAIN SELECT 1
### refused
EXPLAIN ANALYZE SELECT * FROM range(1000000000000)
### refused
{{x "DESCRIBE " 100000}}SELECT 1
### refused
{{x "WITH a AS (" 5000}}SELECT 1{{x ") SELECT 1" 5000}}
### refused
VALUES {{x "(1)," 30000}}(1)
### refused
SELECT {{n "$#," 30000}}1
### refused
SELECT {{x "?," 30000}}1
