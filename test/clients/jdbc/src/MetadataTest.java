// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.Types;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What DBeaver and Tableau ask before they show anything. */
public class MetadataTest {
  private interface Ask {
    void of(DatabaseMetaData m) throws Exception;
  }

  private static void ask(Ask a) throws Exception {
    try (Connection c = Lake.connect()) {
      a.of(c.getMetaData());
    }
  }

  /** The reports: tools crashed on a code of GetSqlInfo that was not answered. */
  public void noQuestionWithoutParametersFails() throws Exception {
    ask(m -> {
      int asked = 0;
      for (Method question : DatabaseMetaData.class.getMethods()) {
        if (question.getParameterCount() > 0 || question.getReturnType() == Connection.class) {
          continue;
        }
        try {
          Object answer = question.invoke(m);
          if (answer instanceof ResultSet) {
            ((ResultSet) answer).close();
          }
          asked++;
        } catch (InvocationTargetException e) {
          throw new AssertionError(question.getName(), e.getCause());
        }
      }
      Lake.check(asked > 100, "only " + asked + " questions");
    });
  }

  public void theProductIsNamed() throws Exception {
    ask(m -> {
      Lake.same("Lake", m.getDatabaseProductName());
      Lake.check(!m.getDatabaseProductVersion().isEmpty(), "no version");
      Lake.same("\"", m.getIdentifierQuoteString());
      Lake.same("namespace", m.getSchemaTerm());
      Lake.same(Connection.TRANSACTION_NONE, m.getDefaultTransactionIsolation());
      Lake.check(!m.supportsTransactions() && !m.supportsBatchUpdates(), "transactions and batches are not there");
      Lake.check(m.supportsUnionAll() && m.supportsFullOuterJoins() && m.supportsCorrelatedSubqueries(), "these are");
    });
  }

  public void catalogsSchemasAndTypes() throws Exception {
    ask(m -> {
      Lake.same(List.of("lake"), Lake.column(m.getCatalogs(), "TABLE_CAT"));
      Lake.check(Lake.column(m.getSchemas(), "TABLE_SCHEM").contains(Lake.SCHEMA), "the namespace");
      Lake.same(List.of(Lake.SCHEMA), Lake.column(m.getSchemas("lake", Lake.SCHEMA), "TABLE_SCHEM"));
      Lake.same(List.of("TABLE"), Lake.column(m.getTableTypes(), "TABLE_TYPE"));
    });
  }

  public void tables() throws Exception {
    ask(m -> {
      Lake.check(Lake.column(m.getTables(null, null, "%", null), "TABLE_NAME").contains("wide"), "no filter");
      Lake.same(List.of("wide"), Lake.column(m.getTables("lake", Lake.SCHEMA, "wi%", new String[] {"TABLE"}), "TABLE_NAME"));
      Lake.same(List.of(), Lake.column(m.getTables(null, Lake.SCHEMA, "%", new String[] {"VIEW"}), "TABLE_NAME"));
      Lake.same(List.of(), Lake.column(m.getTables(null, "", "%", null), "TABLE_NAME"));
    });
  }

  public void columns() throws Exception {
    ask(m -> {
      Map<String, Integer> types = new HashMap<>();
      try (ResultSet rows = m.getColumns(null, Lake.SCHEMA, "wide", null)) {
        for (int at = 1; rows.next(); at++) {
          types.put(rows.getString("COLUMN_NAME"), rows.getInt("DATA_TYPE"));
          Lake.same(at, rows.getInt("ORDINAL_POSITION"));
          Lake.same(rows.getString("COLUMN_NAME").equals("id") ? "NO" : "YES", rows.getString("IS_NULLABLE"));
        }
      }
      Lake.same(28, types.size());
      Map<String, Integer> want = Map.of("id", Types.BIGINT, "s", Types.VARCHAR, "dec", Types.DECIMAL, "d32", Types.DATE, "t64", Types.TIME,
          "ts_us", Types.TIMESTAMP, "tz", Types.TIMESTAMP_WITH_TIMEZONE, "l", Types.ARRAY, "b", Types.BOOLEAN, "bin", Types.VARBINARY);
      want.forEach((name, type) -> Lake.check(type.equals(types.get(name)), name + " has type " + types.get(name) + ", want " + type));
      Lake.same(List.of("ts_ns", "ts_s", "ts_us"), sorted(Lake.column(m.getColumns(null, Lake.SCHEMA, "wide", "ts_%"), "COLUMN_NAME")));
    });
  }

  private static List<String> sorted(List<String> names) {
    names.sort(null);
    return names;
  }

  public void keysAndTheRestAreEmpty() throws Exception {
    ask(m -> {
      Lake.same(List.of(), Lake.column(m.getPrimaryKeys(null, Lake.SCHEMA, "wide"), "COLUMN_NAME"));
      Lake.same(List.of(), Lake.column(m.getImportedKeys(null, Lake.SCHEMA, "wide"), "FKCOLUMN_NAME"));
      Lake.same(List.of(), Lake.column(m.getExportedKeys(null, Lake.SCHEMA, "wide"), "FKCOLUMN_NAME"));
      Lake.same(List.of(), Lake.column(m.getCrossReference(null, Lake.SCHEMA, "wide", null, Lake.SCHEMA, "wide"), "FKCOLUMN_NAME"));
      for (ResultSet rows : new ResultSet[] {m.getIndexInfo(null, Lake.SCHEMA, "wide", false, false), m.getProcedures(null, null, null),
          m.getFunctions(null, null, null), m.getUDTs(null, null, null, null), m.getTablePrivileges(null, Lake.SCHEMA, "wide"),
          m.getVersionColumns(null, Lake.SCHEMA, "wide"), m.getBestRowIdentifier(null, Lake.SCHEMA, "wide", 0, true)}) {
        Lake.check(!rows.next(), "not empty");
        rows.close();
      }
    });
  }
}
