// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Calendar;
import java.util.TimeZone;
import java.util.concurrent.CompletableFuture;

/** Statements: the values of each type, large results, cancellation and errors. */
public class QueryTest {
  private static final String ENDLESS = "SELECT count(*) FROM range(100000000000000)";
  private static final String STREAM = "SELECT range AS x FROM range(100000000000000)";

  public void everyTypeIsReadBack() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM " + Lake.WIDE + " ORDER BY id")) {
      Lake.check(r.next(), "no row");
      Lake.same(true, r.getObject("b"));
      Lake.same((byte) -128, r.getObject("i8"));
      Lake.same(Integer.MIN_VALUE, r.getInt("i32"));
      Lake.same(1L, r.getLong("id"));
      Lake.same("18446744073709551615", r.getString("u64"));
      Lake.same(1.5, r.getDouble("f32"));
      Lake.same("grün", r.getObject("s"));
      Lake.same("grün", r.getString("ls"));
      Lake.same(new byte[] {0, (byte) 255}, r.getBytes("bin"));
      Lake.same("2024-02-29", r.getDate("d32").toString());
      Lake.same("2024-02-29", r.getDate("d64").toString());
      Lake.same("12:34:56.789", r.getTime("t64").toString()); // the driver cuts to milliseconds
      Lake.same("2024-02-29 12:34:56.789012", r.getObject("ts_us").toString());
      Lake.same("2024-02-29 12:34:56.789012345", r.getTimestamp("ts_ns").toString());
      Lake.same(new BigDecimal("-12345678901234567890.123456789"), r.getBigDecimal("dec"));
      Lake.same("[a, null, c]", Arrays.toString((Object[]) r.getArray("l").getArray()));
      Lake.same("[0.5, 1.5]", Arrays.toString((Object[]) r.getArray("fsl").getArray()));
      Lake.same("{\"x\":7,\"y\":\"z\"}", r.getObject("st").toString());
      Lake.check(r.next(), "no second row");
      for (int i = 2; i <= r.getMetaData().getColumnCount(); i++) {
        Lake.check(r.getString(i) == null && r.wasNull(), r.getMetaData().getColumnName(i) + " is not null");
      }
    }
  }

  /** The driver reads every endpoint of a large scan; a parameter of the URL asks for several. */
  public void allEndpointsOfALargeScan() throws Exception {
    String url = "useEncryption=false&token=" + System.getenv("LAKE_TOKEN") + "&x-lake-endpoints=";
    String scan = "SELECT id FROM " + System.getenv("LAKE_LONG");
    for (String endpoints : new String[] {"1", "4"}) {
      try (Connection c = Lake.connect("LAKE_SECURED", url + endpoints); Statement s = c.createStatement()) {
        var ids = new java.util.TreeSet<Long>();
        int rows = 0;
        for (ResultSet r = s.executeQuery(scan); r.next(); rows++) {
          ids.add(r.getLong(1));
        }
        Lake.same(2000, rows);
        Lake.same(2000, ids.size());
        Lake.same(1999L, ids.last());
      }
    }
    Lake.fails("x-lake-endpoints", () -> {
      try (Connection c = Lake.connect("LAKE_SECURED", url + "many"); Statement s = c.createStatement()) {
        s.executeQuery(scan);
      }
    });
  }

  /** The report: timestamps with a zone were not implemented. */
  public void aTimestampWithAZoneIsAMoment() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT tz, tz_zone FROM " + Lake.WIDE + " WHERE id = 1")) {
      Lake.check(r.next(), "no row");
      Lake.same(OffsetDateTime.parse("2024-02-29T12:34:56.789012Z").toInstant(), r.getObject(1, OffsetDateTime.class).toInstant());
      Lake.same(OffsetDateTime.parse("2024-02-29T12:34:56.789Z").toInstant(), r.getObject(2, OffsetDateTime.class).toInstant());
      Lake.same("2024-02-29 12:34:56.789012", r.getTimestamp(1, Calendar.getInstance(TimeZone.getTimeZone("UTC"))).toInstant().toString().replace('T', ' ').replace("Z", ""));
    }
  }

  public void aLargeResultWithAFetchSize() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement()) {
      s.setFetchSize(100);
      try (ResultSet r = s.executeQuery("SELECT i, repeat('x', 80) || i AS s FROM range(300000) t(i)")) {
        int n = 0;
        for (; r.next(); n++) {
          Lake.check(r.getString(2).length() > 80, "row " + n);
        }
        Lake.same(300_000, n);
      }
      s.setMaxRows(5);
      Lake.same(5, Lake.column(s.executeQuery("SELECT i FROM range(100) t(i)"), "i").size());
    }
  }

  public void commentsAndSemicolonsAsToolsSendThem() throws Exception {
    try (Connection c = Lake.connect()) {
      Lake.same(1, Lake.scalar(c, "/* tool */ SELECT 1 AS x -- end"));
      Lake.same(1, Lake.scalar(c, "SELECT 1 AS x;"));
    }
  }

  public void aConnectionAnswersWhatPoolsAsk() throws Exception {
    try (Connection c = Lake.connect()) {
      Lake.check(c.isValid(5), "not valid");
      c.setReadOnly(true);
      c.setAutoCommit(true);
      Lake.same(Connection.TRANSACTION_NONE, c.getTransactionIsolation());
    }
  }

  public void cancelStopsTheServerWithinASecond() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement()) {
      CompletableFuture<Void> cancelled = CompletableFuture.runAsync(() -> {
        try {
          while (Lake.inflight() == 0) {
            Thread.sleep(10);
          }
          Thread.sleep(300); // let it reach the engine
          s.cancel();
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      });
      Lake.fails("ancel", () -> s.executeQuery(ENDLESS).next());
      cancelled.get();
      Lake.idleWithinASecond();
    }
  }

  public void closingAResultStopsTheServerWithinASecond() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement()) {
      ResultSet r = s.executeQuery(STREAM);
      Lake.check(r.next() && Lake.inflight() > 0, "it does not stream");
      r.close();
      Lake.idleWithinASecond();
    }
  }

  public void aTimeoutIsKeptAndClosingStopsTheServer() throws Exception {
    try (Connection c = Lake.connect()) {
      Statement s = c.createStatement();
      s.setQueryTimeout(1);
      Lake.fails("timed out after 1", () -> s.executeQuery(ENDLESS).next());
      s.close();
      Lake.idleWithinASecond();
    }
  }

  public void errorsAreExceptionsWithTheText() throws Exception {
    try (Connection c = Lake.connect(); Statement s = c.createStatement()) {
      Lake.fails("syntax error at or near \"SELEC\"", () -> s.executeQuery("SELEC 1"));
      Lake.fails("table jdbc.missing does not exist", () -> s.executeQuery("SELECT * FROM jdbc.missing"));
      Lake.fails("Could not convert string 'a' to INT32", () -> s.executeQuery("SELECT 'a'::INT").next());
      Lake.fails("DELETE is not allowed", () -> s.executeUpdate("DELETE FROM " + Lake.WIDE));
      Lake.fails("bulk ingest", () -> c.prepareStatement("INSERT INTO " + Lake.WIDE + " VALUES (?)"));
      Lake.fails("2 statements", () -> s.executeQuery("SELECT 1; SELECT 2"));
      Lake.same(1, Lake.scalar(c, "SELECT 1")); // the connection still works
    } catch (SQLException e) {
      throw new AssertionError("the connection broke", e);
    }
  }
}
