### refused : 2 statements
SELECT 1; SELECT 2
### refused : not allowed
SELECT 1; DROP TABLE lab.robots
### refused : bulk ingest
INSERT INTO lab.robots VALUES (1)
### refused : not allowed
UPDATE lab.robots SET id = 1
### refused : not allowed
DELETE FROM lab.robots
### refused : not allowed
CREATE TABLE x AS SELECT 1
### refused : not allowed
CREATE OR REPLACE MACRO sum(x) AS 1
### refused : not allowed
CREATE SECRET (TYPE s3)
### refused : not allowed
DROP SCHEMA lab CASCADE
### refused : not allowed
COPY (SELECT 1) TO '/tmp/lake-hostile'
### refused : not allowed
COPY lab.robots FROM '/etc/passwd'
### refused : not allowed
ATTACH '/tmp/lake-hostile.db'
### refused : not allowed
INSTALL httpfs
### refused : not allowed
LOAD '/tmp/evil.duckdb_extension'
### refused : not allowed
SET memory_limit = '1TB'
### refused : not allowed
SET enable_external_access = true
### refused : not allowed
RESET ALL
### refused : not allowed
PRAGMA database_list
### refused : not allowed
CALL pragma_version()
### refused : not allowed
CHECKPOINT
### refused : not allowed
BEGIN TRANSACTION
### refused : not allowed
EXPORT DATABASE '/tmp/lake-hostile'
### refused : not allowed
PREPARE p AS SELECT 1
### refused : not allowed
VACUUM
### refused : read_csv
SELECT * FROM read_csv('/etc/passwd')
### refused : read_text
SELECT * FROM read_text('/proc/self/environ')
### refused : read_blob
SELECT * FROM read_blob('/etc/shadow')
### refused : looks like a file
SELECT * FROM '/etc/passwd'
### refused : looks like a file
SELECT * FROM 'https://example.com/x.parquet'
### refused : looks like a file
SELECT * FROM 's3://bucket/x.csv'
### refused : looks like a file
SELECT * FROM "x.parquet"
### refused : glob
SELECT * FROM glob('/*')
### refused : query_table
SELECT * FROM query_table('lab.robots')
### refused : query
SELECT * FROM query('SELECT 1')
### refused : getenv
SELECT getenv('HOME')
### refused : current_setting
SELECT current_setting('secret_directory')
### refused : own tables
SELECT * FROM duckdb_secrets
### refused : duckdb_settings
SELECT * FROM duckdb_settings()
### refused : own tables
SELECT * FROM pg_catalog.pg_class
### refused : own tables
SELECT * FROM sqlite_master
### refused : own tables
SELECT * FROM system.information_schema.tables
### refused : pg_catalog
SELECT pg_get_viewdef(1)
### refused : json_execute_serialized_sql
SELECT * FROM json_execute_serialized_sql('{}')
### refused : runs SQL text
SELECT json_execute_serialized_sql('{}')
### refused : lake_scan
SELECT * FROM lake_scan(1)
### refused : lake_scan
SELECT lake_scan(1)
### refused : nextval
SELECT nextval('s')
### refused : setseed
SELECT setseed(0.5)
### refused : write_log
SELECT write_log('x')
### refused : sleep_ms
SELECT sleep_ms(100000)
### refused : seq_scan
SELECT * FROM seq_scan('x')
### refused : repeat_row
SELECT * FROM repeat_row(1, num_rows := 1000000000)
### refused : "repeat"
SELECT * FROM repeat('x', 1000000000)
### refused : test_all_types
SELECT * FROM test_all_types()
### refused : force_checkpoint
SELECT * FROM force_checkpoint()
### refused : AT is not supported
SELECT * FROM lab.robots AT (VERSION => 1)
### refused : list the values
PIVOT lab.robots ON name USING count(*)
### refused : SHOW TABLES
SHOW ALL TABLES
### refused : SHOW TABLES
SUMMARIZE lab.robots
### refused : not supported
SELECT sum(id) EXPORT_STATE FROM lab.robots
### refused
SELECT * FROM lab.robots LIMIT (SELECT getenv('X')::INT)
### refused : arg_max OVER
SELECT arg_max(id, id) OVER () FROM lab.robots
### refused : can hang
SELECT reservoir_quantile(id, 0.5, 1) FROM lab.robots
### refused : can hang
SELECT list_aggregate([1,2,3], 'reservoir_quantile', 2.0)
### refused
SELECT no_such_function(1)
### invalid : there is no catalog
SELECT * FROM other.lab.robots
### invalid : want namespace.table
SELECT * FROM robots
