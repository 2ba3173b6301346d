-- The eight tables of TPC-H (specification, section 1.4), with values in its
-- ranges and simplified distributions. {{sf}} is the scale factor. h gives a
-- number that depends on a key and a salt.
CREATE SCHEMA tpch;
CREATE MACRO hh(k, salt) AS (hash(k * 1000003 + salt) >> 8)::BIGINT;
CREATE MACRO words(k, salt) AS array_to_string([['quickly', 'final', 'deposits', 'sleep', 'carefully', 'ironic', 'packages', 'haggle', 'among', 'regular'][1 + hh(k, salt + i) % 10] FOR i IN range(1 + hh(k, salt) % 5)], ' ');
CREATE MACRO phone(k, nation) AS (10 + nation) || '-' || (100 + hh(k, 91) % 900) || '-' || (100 + hh(k, 92) % 900) || '-' || (1000 + hh(k, 93) % 9000);
CREATE TABLE tpch.region AS SELECT i::INTEGER AS r_regionkey, ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][i + 1] AS r_name, words(i, 1) AS r_comment FROM range(5) t(i);
CREATE TABLE tpch.nation AS SELECT i::INTEGER AS n_nationkey,
	['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA', 'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'][i + 1] AS n_name,
	[0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][i + 1]::INTEGER AS n_regionkey, words(i, 2) AS n_comment FROM range(25) t(i);
CREATE TABLE tpch.supplier AS SELECT i AS s_suppkey, 'Supplier#' || lpad(i::VARCHAR, 9, '0') AS s_name, words(i, 3) AS s_address, (hh(i, 4) % 25)::INTEGER AS s_nationkey,
	phone(i, hh(i, 4) % 25) AS s_phone, ((hh(i, 5) % 1100000) - 100000)::DECIMAL(15,2) / 100 AS s_acctbal_raw,
	CASE WHEN hh(i, 6) % 40 = 0 THEN 'the Customer said Complaints' ELSE words(i, 7) END AS s_comment FROM range(1, (10000 * {{sf}})::BIGINT + 1) t(i);
ALTER TABLE tpch.supplier ADD COLUMN s_acctbal DECIMAL(15,2);
UPDATE tpch.supplier SET s_acctbal = s_acctbal_raw;
ALTER TABLE tpch.supplier DROP COLUMN s_acctbal_raw;
CREATE TABLE tpch.part AS SELECT i AS p_partkey,
	array_to_string([['almond', 'antique', 'forest', 'green', 'blue', 'blush', 'chiffon', 'cornsilk', 'dark', 'ivory', 'lemon', 'magenta'][1 + hh(i, 10 + j) % 12] FOR j IN range(5)], ' ') AS p_name,
	'Manufacturer#' || (1 + hh(i, 20) % 5) AS p_mfgr, 'Brand#' || (1 + hh(i, 20) % 5) || (1 + hh(i, 21) % 5) AS p_brand,
	['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'][1 + hh(i, 22) % 6] || ' ' || ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'][1 + hh(i, 23) % 5] || ' ' || ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'][1 + hh(i, 24) % 5] AS p_type,
	(1 + hh(i, 25) % 50)::INTEGER AS p_size, ['SM', 'LG', 'MED', 'JUMBO', 'WRAP'][1 + hh(i, 26) % 5] || ' ' || ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'][1 + hh(i, 27) % 8] AS p_container,
	((90000 + (i // 10) % 20001 + 100 * (i % 1000)) / 100)::DECIMAL(15,2) AS p_retailprice, words(i, 28) AS p_comment FROM range(1, (200000 * {{sf}})::BIGINT + 1) t(i);
CREATE TABLE tpch.partsupp AS SELECT i AS ps_partkey, 1 + (i + j * ((10000 * {{sf}})::BIGINT // 4 + (i - 1) // (10000 * {{sf}})::BIGINT)) % (10000 * {{sf}})::BIGINT AS ps_suppkey,
	(1 + hh(i * 4 + j, 30) % 9999)::INTEGER AS ps_availqty, ((100 + hh(i * 4 + j, 31) % 99901) / 100)::DECIMAL(15,2) AS ps_supplycost, words(i * 4 + j, 32) AS ps_comment
	FROM range(1, (200000 * {{sf}})::BIGINT + 1) t(i), range(4) u(j);
CREATE TABLE tpch.customer AS SELECT i AS c_custkey, 'Customer#' || lpad(i::VARCHAR, 9, '0') AS c_name, words(i, 40) AS c_address, (hh(i, 41) % 25)::INTEGER AS c_nationkey, phone(i, hh(i, 41) % 25) AS c_phone,
	(((hh(i, 42) % 1100000) - 100000) / 100)::DECIMAL(15,2) AS c_acctbal, ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'][1 + hh(i, 43) % 5] AS c_mktsegment, words(i, 44) AS c_comment
	FROM range(1, (150000 * {{sf}})::BIGINT + 1) t(i);
CREATE TABLE tpch.orders AS SELECT i AS o_orderkey, 1 + 3 * (hh(i, 50) % ((150000 * {{sf}})::BIGINT // 3)) + hh(i, 51) % 2 AS o_custkey, ['O', 'F', 'P'][1 + hh(i, 52) % 3] AS o_orderstatus,
	((100000 + hh(i, 53) % 50000000) / 100)::DECIMAL(15,2) AS o_totalprice, DATE '1992-01-01' + (hh(i, 54) % 2405)::INTEGER AS o_orderdate,
	['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + hh(i, 55) % 5] AS o_orderpriority, 'Clerk#' || (hh(i, 56) % 1000) AS o_clerk, 0::INTEGER AS o_shippriority,
	CASE WHEN hh(i, 57) % 50 = 0 THEN 'very special packages and requests' ELSE words(i, 58) END AS o_comment FROM range(1, (1500000 * {{sf}})::BIGINT + 1) t(i);
CREATE TABLE tpch.lineitem AS SELECT l_orderkey, l_partkey, 1 + (l_partkey + j * ((10000 * {{sf}})::BIGINT // 4 + (l_partkey - 1) // (10000 * {{sf}})::BIGINT)) % (10000 * {{sf}})::BIGINT AS l_suppkey, l_linenumber,
	q::DECIMAL(15,2) AS l_quantity, (q * (90000 + l_partkey % 20000 + 100 * (l_partkey % 1000)) / 100)::DECIMAL(15,2) AS l_extendedprice, ((hh(k, 62) % 11) / 100)::DECIMAL(15,2) AS l_discount, ((hh(k, 63) % 9) / 100)::DECIMAL(15,2) AS l_tax,
	CASE WHEN l_receiptdate > DATE '1995-06-17' THEN 'N' WHEN hh(k, 64) % 2 = 0 THEN 'R' ELSE 'A' END AS l_returnflag, CASE WHEN l_shipdate > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
	l_shipdate, o_orderdate + (30 + hh(k, 66) % 61)::INTEGER AS l_commitdate, l_receiptdate,
	['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'][1 + hh(k, 67) % 4] AS l_shipinstruct, ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'][1 + hh(k, 68) % 7] AS l_shipmode, words(k, 69) AS l_comment
	FROM (SELECT *, o_orderkey * 8 + l_linenumber AS k, 1 + hh(o_orderkey * 8 + l_linenumber, 60) % 50 AS q, hh(o_orderkey * 8 + l_linenumber, 61) % 4 AS j, 1 + hh(o_orderkey * 8 + l_linenumber, 59) % (200000 * {{sf}})::BIGINT AS l_partkey,
		o_orderdate + (1 + hh(o_orderkey * 8 + l_linenumber, 65) % 121)::INTEGER AS l_shipdate, l_shipdate + (1 + hh(o_orderkey * 8 + l_linenumber, 70) % 30)::INTEGER AS l_receiptdate
		FROM (SELECT o_orderkey, o_orderdate, o_orderkey AS l_orderkey, unnest(range(1, 2 + hh(o_orderkey, 71) % 7))::INTEGER AS l_linenumber FROM tpch.orders));
