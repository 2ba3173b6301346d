// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.io.OutputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.List;

/** Tokens, users and TLS. */
public class SecurityTest {
  private static final String TOKEN = System.getenv("LAKE_TOKEN");

  private static void answers(String variable, String parameters) throws Exception {
    try (Connection c = Lake.connect(variable, parameters)) {
      Lake.same(42, Lake.scalar(c, "SELECT 42"));
      Lake.same(List.of("lake"), Lake.column(c.getMetaData().getCatalogs(), "TABLE_CAT"));
    }
  }

  /** A trust store with the authority of the server's certificate. */
  private static Path trustStoreFile() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (FileInputStream pem = new FileInputStream(System.getenv("LAKE_CA"))) {
      store.setCertificateEntry("lake", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    Path file = Files.createTempFile("lake-trust", ".p12");
    file.toFile().deleteOnExit();
    try (OutputStream out = Files.newOutputStream(file)) {
      store.store(out, "changeit".toCharArray());
    }
    return file;
  }

  private static String trustStore() throws Exception {
    return "useEncryption=true&useSystemTrustStore=false&trustStorePassword=changeit&trustStore=" + URLEncoder.encode(trustStoreFile().toString(), StandardCharsets.UTF_8);
  }

  /** Each URL of docs/clients.md connects, with the values of this test. */
  public void theURLsOfThePage() throws Exception {
    int urls = 0;
    for (String line : Files.readAllLines(Path.of(System.getenv("LAKE_DOC")))) {
      if (!line.startsWith("jdbc:arrow-flight-sql://127.0.0.1:50051/?")) {
        continue;
      }
      boolean tls = line.contains("trustStore=");
      String server = System.getenv(tls ? "LAKE_TLS" : line.contains("TOKEN") ? "LAKE_SECURED" : "LAKE_QUERY");
      String url = line.replace("127.0.0.1:50051", server).replace("TOKEN", TOKEN);
      if (tls) {
        url = url.replace("/path/trust.p12", URLEncoder.encode(trustStoreFile().toString(), StandardCharsets.UTF_8));
      }
      try (Connection c = DriverManager.getConnection(url)) {
        Lake.same(42, Lake.scalar(c, "SELECT 42"));
      }
      urls++;
    }
    Lake.same(4, urls);
  }

  public void aToken() throws Exception {
    answers("LAKE_SECURED", "useEncryption=false&token=" + TOKEN);
  }

  public void aUserAndTheTokenAsItsPassword() throws Exception {
    answers("LAKE_SECURED", "useEncryption=false&user=ann&password=" + TOKEN);
  }

  public void aTokenOverTLS() throws Exception {
    answers("LAKE_TLS", trustStore() + "&token=" + TOKEN);
  }

  public void aUserOverTLS() throws Exception {
    answers("LAKE_TLS", trustStore() + "&user=ann&password=" + TOKEN);
  }

  public void anUnknownAuthorityIsRefused() throws Exception {
    Lake.fails("", () -> answers("LAKE_TLS", "useEncryption=true&token=" + TOKEN));
  }

  public void wrongCredentialsAreRefused() throws Exception {
    Lake.fails("the token is not known", () -> answers("LAKE_SECURED", "useEncryption=false&token=wrong"));
    Lake.fails("the token is not known", () -> answers("LAKE_SECURED", "useEncryption=false&user=ann&password=wrong"));
    Lake.fails("", () -> answers("LAKE_SECURED", "useEncryption=false"));
  }
}
