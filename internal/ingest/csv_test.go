// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/lake"
)

func TestCSVTypesHoldEveryValueOfTheFile(t *testing.T) {
	for values, want := range map[string]string{
		"true|FALSE||":                  "c:bool?",
		"1|-2||3":                       "c:i64?",
		"0|-0|0.5|0e1|+1.5":             "c:f64?",
		"90210|01234":                   "c:utf8?", // a number would not keep the zero
		"-007":                          "c:utf8?",
		"01.10|2.20":                    "c:utf8?",
		"+4930123456|1":                 "c:utf8?", // nor the plus
		"9223372036854775807":           "c:i64?",
		"9223372036854775808":           "c:utf8?", // a float would not keep it
		"1|2.5|-1e10|nan|Inf":           "c:f64?",
		"1.0|123456789012345678":        "c:utf8?",
		"1e400":                         "c:utf8?",
		"0x10":                          "c:utf8?",
		"1_000":                         "c:utf8?",
		"2024-02-29|1969-12-31":         "c:date?",
		"2023-02-29":                    "c:utf8?",
		"2024-02-29|2024-02-29 01:02":   "c:ts[us]?",
		"2024-01-01T00:00:00.5":         "c:ts[us]?",
		"2024-01-01 00:00:00.123456789": "c:ts[ns]?",
		"2024-01-01 00:00:00.123456789|9999-12-31 00:00:00": "c:utf8?", // beyond nanoseconds
		"2024-01-01 00:00:00.1234567899":                    "c:utf8?", // below nanoseconds
		"2024-01-01 00:00:00Z|2024-01-01 00:00+02":          "c:utf8?",
		"2024-01-01 00:00:00Z|2024-01-01T00:00:00-05:30":    "c:ts[us,UTC]?",
		"2024-01-01 00:00:00|2024-01-01 00:00:00Z":          "c:utf8?",
		"":          "c:utf8?",
		"1|x":       "c:utf8?",
		" 1| 2 ":    "c:i64?",
		"true|1":    "c:utf8?",
		"1|1.5|abc": "c:utf8?",
	} {
		text := "c,k\n"
		for _, v := range strings.Split(values, "|") {
			text += v + ",k\n"
		}
		s, _ := mustRead(t, put(t, "a.csv", []byte(text)), ingest.Options{})
		require.Equal(t, want, format(s.Schema())[0], values)
	}
}

func TestCSVReadsItsRows(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		opts       ingest.Options
		want       []string
	}{
		"plain":        {"a.csv", "a,b\n1,x\n2,\n", ingest.Options{}, []string{`{"a":1,"b":"x"}`, `{"a":2,"b":null}`}},
		"quotes":       {"a.csv", "a,b\n\"x,\"\"y\"\"\",\"two\nlines\"\n", ingest.Options{}, []string{`{"a":"x,\"y\"","b":"two\nlines"}`}},
		"crlf and bom": {"a.csv", "\xef\xbb\xbfa;b\r\n1;2\r\n", ingest.Options{}, []string{`{"a":1,"b":2}`}},
		"no last line": {"a.csv", "a,b\n1,2", ingest.Options{}, []string{`{"a":1,"b":2}`}},
		"tabs":         {"a.tsv", "a\tb\nx,y\t2\n", ingest.Options{}, []string{`{"a":"x,y","b":2}`}},
		"pipes":        {"a.txt", "a|b\n1,5|2\n", ingest.Options{}, []string{`{"a":"1,5","b":2}`}},
		"one column":   {"a.csv", "a\nx\ny\n", ingest.Options{}, []string{`{"a":"x"}`, `{"a":"y"}`}},
		"delimiter":    {"a.csv", "a:b\n1,2:3\n", ingest.Options{Delimiter: ':'}, []string{`{"a":"1,2","b":3}`}},
		"no header":    {"a.csv", "1,x\n2,y\n", ingest.Options{NoHeader: true}, []string{`{"column0":1,"column1":"x"}`, `{"column0":2,"column1":"y"}`}},
		"header only":  {"a.csv", "a,b\n", ingest.Options{}, nil},
		"times": {
			"a.csv", "a,b,c\n2024-01-01 02:00:00+02:00,2024-01-02,2024-01-01 00:00:00.25\n",
			ingest.Options{},
			[]string{`{"a":"2024-01-01T00:00:00Z","b":"2024-01-02","c":"2024-01-01T00:00:00.25"}`},
		},
		"crlf in quotes": {"a.csv", "a,b\r\n\"x\r\ny\",\"p\nq\"\r\n", ingest.Options{}, []string{`{"a":"x\r\ny","b":"p\nq"}`}},
		"cr":             {"a.csv", "a,b\r1,\"x\ry\nz\"\r2,y", ingest.Options{}, []string{`{"a":1,"b":"x\ry\nz"}`, `{"a":2,"b":"y"}`}},
		"cr in a field":  {"a.csv", "a,b\r\n1,x\ry\r\n", ingest.Options{}, []string{`{"a":1,"b":"x\ry"}`}},
		"empty lines":    {"a.csv", "\na,b\n\n1,2\n\r\n\n3,4\n\n", ingest.Options{}, []string{`{"a":1,"b":2}`, `{"a":3,"b":4}`}},
		"nulls alone":    {"a.csv", "a\n1\n\n3\n\n", ingest.Options{}, []string{`{"a":1}`, `{"a":null}`, `{"a":3}`, `{"a":null}`}},
		"empty texts":    {"a.csv", "a,b,c\n\"\",\"\",1\n,2,\"\"\n", ingest.Options{}, []string{`{"a":"","b":null,"c":1}`, `{"a":null,"b":2,"c":null}`}},
		"upper case":     {"A.TSV", "a\nx,y\n", ingest.Options{}, []string{`{"a":"x,y"}`}},
		"wide delimiter": {"a.csv", "a→b\n\"1→\"→x\n", ingest.Options{Delimiter: '→'}, []string{`{"a":"1→","b":"x"}`}},
		"columns":        {"a.csv", "a,b,c\n1,2,3\n", ingest.Options{Columns: []string{"c", "a"}}, []string{`{"a":1,"c":3}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, rows := mustRead(t, put(t, test.file, []byte(test.text)), test.opts)
			require.Len(t, rows, len(test.want))
			for i := range rows {
				require.JSONEq(t, test.want[i], rows[i])
			}
			require.Equal(t, int64(len(test.want)), s.Rows())
		})
	}
}

func TestCSVTakesTheTypesOfItsTable(t *testing.T) {
	target := parse(t, "id:utf8", "n:i8?", "u:u64?", "x:f32?", "d:decimal(6,2)?", "t:ts[ms,UTC]?", "bin:binary?", "b:bool?", "day:date?")
	_, rows := mustRead(t, put(t, "a.csv", []byte("n,id,u,x,d,t,bin,b,day\n-8,007,18446744073709551615,0.5,1234.50,2024-01-01 00:00:00.5,a,true,2024-01-01\n")), ingest.Options{Target: target})
	require.JSONEq(t, `{"id":"007","n":-8,"u":18446744073709551615,"x":0.5,"d":"1234.5","t":"2024-01-01T00:00:00.5Z","bin":"YQ==","b":true,"day":"2024-01-01"}`, rows[0])
	for text, want := range map[string]string{
		"id,n\n1,1\n2,128\n":                        `line 3: column "n": "128" is not a value of type int8`,
		"id,u\n1,-1\n":                              `"-1" is not a value of type uint64`,
		"id,x\n1,1e300\n":                           `"1e300" is not a value of type float32`,
		"id,d\n1,1.234\n":                           `"1.234" is not a value of type decimal(6, 2)`,
		"id,d\n1,12345.0\n":                         `is not a value of type decimal(6, 2)`,
		"id,t\n1,2024-01-01 00:00:00.0001\n":        "is not a value of type timestamp[ms, tz=UTC]",
		"id,n\n,1\n":                                `column "id": rows 1 to 1: it holds 1 nulls and the table allows none`,
		"id,zz\n1,1\n":                              `column "zz" is not in the table`,
		"id,n\n1," + strings.Repeat("9", 99) + "\n": strings.Repeat("9", 60) + "…",
	} {
		err := failure(t, put(t, "a.csv", []byte(text)), ingest.Options{Target: target})
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		require.ErrorContains(t, err, want)
	}
	err := failure(t, put(t, "a.csv", []byte("l\n[1]\n")), ingest.Options{Target: parse(t, "l:list<i8>?")})
	require.ErrorContains(t, err, `column "l": a CSV field cannot become list`)
}

// The sample that decides the delimiter ends wherever it ends: inside of quotes,
// or before the first line does.
func TestTheDelimiterIsFoundBeforeLongFields(t *testing.T) {
	s, rows := mustRead(t, put(t, "a.csv", []byte("id;text\n"+strings.Repeat("1;\""+strings.Repeat("so, it goes\n", 400)+"\"\n", 20))), ingest.Options{})
	require.Equal(t, []string{"id:i64?", "text:utf8?"}, format(s.Schema()))
	require.Len(t, rows, 20)

	header, row := strings.Repeat(`"a;b, c";`, 20_000)+"z\n", strings.Repeat("1;", 20_000)+"1\n"
	s, rows = mustRead(t, put(t, "b.csv", []byte(header+row)), ingest.Options{})
	require.Equal(t, 20_001, s.Schema().NumFields())
	require.Len(t, rows, 1)
}

func TestColumnsOfOneNameAreManyAndQuick(t *testing.T) {
	const columns = 100_000
	s, rows := mustRead(t, put(t, "a.csv", []byte(strings.Repeat("x,", columns-1)+"X\n"+strings.Repeat("1,", columns-1)+"1\n")), ingest.Options{Columns: []string{"x", "x_7", "X_99999"}})
	require.Equal(t, []string{"x:i64?", "x_7:i64?", "X_99999:i64?"}, format(s.Schema()))
	require.Len(t, rows, 1)
}

func TestCSVMayBeCompressed(t *testing.T) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte("a,b\n" + strings.Repeat("1,x\n", 20_000)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s, rows := mustRead(t, put(t, "A.CSV.GZ", out.Bytes()), ingest.Options{})
	require.Len(t, rows, 20_000)
	require.Equal(t, []string{"a:i64?", "b:utf8?"}, format(s.Schema()))
	read, total := s.Progress()
	require.Equal(t, total, read)

	err = failure(t, put(t, "cut.csv.gz", out.Bytes()[:out.Len()-20]), ingest.Options{})
	require.ErrorContains(t, err, "the CSV text is damaged or cut off")
}

func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "a;b\n\"x\";2024-01-01\n", "\xef\xbb\xbfa\n\n", "a,b\n1\n", "a\t\"b\"\n1e5\tnan\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := failure(t, put(t, "a.csv", data), ingest.Options{}); err != nil {
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		}
	})
}
