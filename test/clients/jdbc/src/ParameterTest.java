// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.List;

/** Prepared statements. The driver builds its list of parameters from what the server says they are. */
public class ParameterTest {
  private interface Set {
    void on(PreparedStatement p) throws Exception;
  }

  /** The ids of the wide table's rows for which the condition holds. */
  private static List<String> ids(String condition, Set set) throws Exception {
    try (Connection c = Lake.connect(); PreparedStatement p = c.prepareStatement("SELECT id FROM " + Lake.WIDE + " WHERE " + condition + " ORDER BY id")) {
      set.on(p);
      return Lake.column(p.executeQuery(), "id");
    }
  }

  /** The report: "parameter ordinal 1 out of range". */
  public void placeholdersAreListed() throws Exception {
    try (Connection c = Lake.connect(); PreparedStatement p = c.prepareStatement("SELECT * FROM " + Lake.WIDE + " WHERE id = ? AND s < ?")) {
      Lake.same(2, p.getParameterMetaData().getParameterCount());
      Lake.same(Types.BIGINT, p.getParameterMetaData().getParameterType(1));
      Lake.same(Types.VARCHAR, p.getParameterMetaData().getParameterType(2));
    }
  }

  public void eachSetterFindsItsRow() throws Exception {
    List<String> one = List.of("1");
    Lake.same(one, ids("id = ?", p -> p.setLong(1, 1)));
    Lake.same(one, ids("i32 = ?", p -> p.setInt(1, Integer.MIN_VALUE)));
    Lake.same(one, ids("i16 = ?", p -> p.setShort(1, Short.MIN_VALUE)));
    Lake.same(one, ids("i8 = ?", p -> p.setByte(1, Byte.MIN_VALUE)));
    Lake.same(one, ids("b = ?", p -> p.setBoolean(1, true)));
    Lake.same(one, ids("f64 = ?", p -> p.setDouble(1, -2.25)));
    Lake.same(one, ids("f32 = ?", p -> p.setFloat(1, 1.5f)));
    Lake.same(one, ids("s = ?", p -> p.setString(1, "grün")));
    Lake.same(one, ids("bin = ?", p -> p.setBytes(1, new byte[] {0, (byte) 255})));
    Lake.same(one, ids("dec = ?", p -> p.setBigDecimal(1, new BigDecimal("-12345678901234567890.123456789"))));
    Lake.same(one, ids("d32 = ?", p -> p.setDate(1, Date.valueOf("2024-02-29"))));
    Lake.same(one, ids("t64 > ?", p -> p.setTime(1, Time.valueOf("12:34:55"))));
    Lake.same(one, ids("ts_us > ?", p -> p.setTimestamp(1, Timestamp.valueOf("2024-02-29 12:34:56.789011"))));
    Lake.same(one, ids("id = ?", p -> p.setObject(1, 1L)));
  }

  public void nulls() throws Exception {
    Lake.same(List.of(), ids("s = ?", p -> p.setNull(1, Types.VARCHAR)));
    Lake.same(List.of("2"), ids("i32 IS NOT DISTINCT FROM ?", p -> p.setNull(1, Types.INTEGER)));
  }

  public void aStatementRunsAgainWithOtherValues() throws Exception {
    try (Connection c = Lake.connect(); PreparedStatement p = c.prepareStatement("SELECT id FROM " + Lake.WIDE + " WHERE id = ?")) {
      for (long id : new long[] {2, 1, 3}) {
        p.setLong(1, id);
        Lake.same(id == 3 ? List.of() : List.of(String.valueOf(id)), Lake.column(p.executeQuery(), "id"));
      }
    }
  }

  /** A placeholder that stands alone is announced as text; a cast gives it another type. */
  public void aCastGivesALonePlaceholderItsType() throws Exception {
    try (Connection c = Lake.connect(); PreparedStatement p = c.prepareStatement("SELECT ? AS s")) {
      p.setString(1, "grün");
      Lake.same(List.of("grün"), Lake.column(p.executeQuery(), "s"));
    }
    try (Connection c = Lake.connect(); PreparedStatement p = c.prepareStatement("SELECT ?::BIGINT AS n, CAST(? AS DATE) AS d")) {
      p.setLong(1, 7);
      p.setDate(2, Date.valueOf("2024-02-29"));
      try (ResultSet r = p.executeQuery()) {
        Lake.check(r.next(), "no row");
        Lake.same(7L, r.getObject(1));
        Lake.same("2024-02-29", r.getDate(2).toString());
      }
    }
  }
}
