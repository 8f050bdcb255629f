import Foundation
import Testing

@testable import Kafka

/// Passwords and certificates that are renewed on disk.
@Suite struct CredentialsTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "juice-\(UUID().uuidString)").path()

    private func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }

    /// Credentials whose password is the file's content.
    private func credentials() throws -> Credentials {
        try Credentials(["sasl.password": String(contentsOfFile: file, encoding: .utf8)]) { [file] in
            ["sasl.password": try String(contentsOfFile: file, encoding: .utf8)]
        }
    }

    @Test func aPasswordThatIsRenewedIsReadAgainOnce() throws {
        try write("old")
        let credentials = try credentials()
        #expect(!credentials.reload() && credentials.generation == 0)
        try write("new")
        #expect(credentials.reload() && credentials.generation == 1)
        #expect(credentials.properties == ["sasl.password": "new"])
        #expect(!credentials.reload() && credentials.generation == 1)
        try FileManager.default.removeItem(atPath: file)
        #expect(!credentials.reload(), "a source that cannot be read changes nothing")
        #expect(credentials.properties == ["sasl.password": "new"])
    }

    /// The contents differ only at the end.
    @Test func reloadsWhenAReferencedFileChanges() throws {
        let (start, name) = (String(repeating: "-", count: 1000), "ssl.ca.location")
        try write(start + "old")
        let credentials = Credentials([name: file])
        #expect(!credentials.reload())
        try write(start + "new")
        #expect(credentials.reload())
        #expect(!credentials.reload())
        try FileManager.default.removeItem(atPath: file)
    }

    /// An elliptic-curve certificate, made by OpenSSL 3.
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBbTCCAROgAwIBAgIURKROhLpsJ5nuqTbesodht1rko+AwCgYIKoZIzj0EAwIw
        DDEKMAgGA1UEAwwBeDAeFw0yNjExMjkwOTUyMDNaFw0yNjExMzAwOTUyMDNaMAwx
        CjAIBgNVBAMMAXgwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARe9ZJBtK9VIRmL
        sjPN5KM6Z7dIBlGoyz5svbIT7rUtTnKZ0G+ve2oDb0c2Mb6PX+T0AGl4MubeKf/y
        bBooPxU7o1MwUTAdBgNVHQ4EFgQUd7SoXlW3/B19rGMYU7UJifvJKTcwHwYDVR0j
        BBgwFoAUd7SoXlW3/B19rGMYU7UJifvJKTcwDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNIADBFAiB1JHwnjk+5wHuaeGTUdMGKEJMa5mRPxwsdXYOVc4ZrrwIh
        AJ9UehEyh5vXWiNKH2C9t8h4KUcWmvi26udSDWntUVk2
        -----END CERTIFICATE-----
        """

    @Test func theEndOfACertificateIsRead() throws {
        #expect(ClientCertificate.end(ofPEM: Self.certificate)?.formatted(.iso8601) == "2026-11-30T09:52:03Z")
        let configuration = KafkaConfiguration(["ssl.certificate.pem": Self.certificate])
        #expect(ClientCertificate.end(for: configuration) != nil)
        #expect(ClientCertificate.end(for: KafkaConfiguration()) == nil)
        // With other text in the file, or if it is cut off.
        let lines = Self.certificate.split(separator: "\n")
        #expect(ClientCertificate.end(ofPEM: "x\n\(Self.certificate)\n\(Self.certificate)") != nil)
        #expect(ClientCertificate.end(ofPEM: [lines[0], lines[1], lines[9]].joined(separator: "\n")) == nil)
        #expect(ClientCertificate.end(ofPEM: "") == nil)
    }

    @Test func ignoresValuesThatLibrdkafkaRefuses() throws {
        try write("plaintext")
        let credentials = Credentials(["security.protocol": "plaintext"]) { [file] in
            ["security.protocol": try String(contentsOfFile: file, encoding: .utf8)]
        }
        try write("plai")
        #expect(!credentials.reload() && credentials.generation == 0)
        #expect(credentials.properties == ["security.protocol": "plaintext"])
        try FileManager.default.removeItem(atPath: file)
    }
}
