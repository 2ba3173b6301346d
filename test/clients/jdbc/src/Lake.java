// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The servers under test and what the tests share. */
final class Lake {
  static final String WIDE = System.getenv("LAKE_WIDE");
  static final String SCHEMA = WIDE.substring(0, WIDE.indexOf('.'));

  /** A call that may throw. */
  interface Call {
    void run() throws Exception;
  }

  private Lake() {}

  /** Connects to the server that asks for no credentials. */
  static Connection connect() throws SQLException {
    return connect("LAKE_QUERY", "useEncryption=false");
  }

  static Connection connect(String variable, String parameters) throws SQLException {
    return DriverManager.getConnection("jdbc:arrow-flight-sql://" + System.getenv(variable) + "/?" + parameters);
  }

  /** The values of one column of a result, as texts; closes the result. */
  static List<String> column(ResultSet rows, String name) throws SQLException {
    List<String> out = new ArrayList<>();
    try (rows) {
      while (rows.next()) {
        out.add(rows.getString(name));
      }
    }
    return out;
  }

  /** The first value of the first row of a statement's result. */
  static Object scalar(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet rows = s.executeQuery(sql)) {
      check(rows.next(), "no row");
      return rows.getObject(1);
    }
  }

  static void check(boolean ok, String what) {
    if (!ok) {
      throw new AssertionError(what);
    }
  }

  static void same(Object want, Object got) {
    check(Objects.deepEquals(want, got), "want " + want + ", got " + got);
  }

  /** Wants an SQLException whose text, or a cause's, has the given words. */
  static void fails(String words, Call call) throws Exception {
    try {
      call.run();
    } catch (SQLException e) {
      for (Throwable t = e; t != null; t = t.getCause()) {
        if (String.valueOf(t.getMessage()).contains(words)) {
          return;
        }
      }
      throw new AssertionError("want an error with: " + words, e);
    }
    throw new AssertionError("no error; want one with: " + words);
  }

  /** Requests that the server works on. */
  static int inflight() throws IOException {
    try (var page = new URL(System.getenv("LAKE_METRICS")).openStream()) {
      for (String line : new String(page.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
        if (line.startsWith("lake_query_inflight_requests ")) {
          return (int) Double.parseDouble(line.substring(line.lastIndexOf(' ')));
        }
      }
    }
    throw new IOException("the metric is not on the page");
  }

  /** Waits until the server works on nothing, at most a second. */
  static void idleWithinASecond() throws Exception {
    for (long end = System.nanoTime() + 1_000_000_000L; inflight() > 0; Thread.sleep(10)) {
      check(System.nanoTime() < end, "a query still runs after a second");
    }
  }
}
