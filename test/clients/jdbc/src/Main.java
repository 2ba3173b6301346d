// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Runs the tests of the Arrow Flight SQL JDBC driver against the servers that
 * test/blackbox started (see suites_test.go there): every public method without
 * parameters of the classes below. Ends with status 1 if one failed.
 */
public final class Main {
  public static void main(String[] args) throws Exception {
    Logger.getLogger("org.apache.arrow").setLevel(Level.OFF);
    int passed = 0;
    int failed = 0;
    for (Class<?> suite : new Class<?>[] {MetadataTest.class, QueryTest.class, ParameterTest.class, SecurityTest.class}) {
      Method[] tests = suite.getDeclaredMethods();
      Arrays.sort(tests, Comparator.comparing(Method::getName));
      for (Method test : tests) {
        if (test.getParameterCount() > 0 || test.isSynthetic() || !java.lang.reflect.Modifier.isPublic(test.getModifiers())) {
          continue;
        }
        long began = System.nanoTime();
        try {
          test.invoke(suite.getDeclaredConstructor().newInstance());
          passed++;
          System.out.printf("ok   %s.%s (%d ms)%n", suite.getName(), test.getName(), (System.nanoTime() - began) / 1_000_000);
        } catch (InvocationTargetException e) {
          failed++;
          System.out.printf("FAIL %s.%s%n", suite.getName(), test.getName());
          e.getCause().printStackTrace(System.out);
        }
      }
    }
    System.out.printf("%d passed, %d failed%n", passed, failed);
    System.exit(failed > 0 || passed == 0 ? 1 : 0);
  }
}
