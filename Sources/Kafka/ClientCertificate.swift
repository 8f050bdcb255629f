import Foundation

/// The end of a certificate's validity. librdkafka does not say why a broker refuses a client's certificate, and brokers rarely do.
enum ClientCertificate {
    /// When the certificate expires that a client with this configuration presents; nil without one in PEM.
    static func end(for configuration: KafkaConfiguration) -> Date? {
        let path = configuration["ssl.certificate.location"]
        return (configuration["ssl.certificate.pem"] ?? path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) })
            .flatMap(end(ofPEM:))
    }

    /// When the first certificate in a text expires.
    static func end(ofPEM text: String) -> Date? {
        guard let match = text.firstMatch(of: /-----BEGIN CERTIFICATE-----([^-]+)-----END/),
            let bytes = Data(base64Encoded: String(match.1), options: .ignoreUnknownCharacters)
        else { return nil }
        // RFC 5280: a sequence of what is signed and its signature. The former has perhaps a version, then serial number,
        // algorithm, issuer, and the two times.
        var whole = Array(bytes)[...]
        guard var certificate = element(of: &whole)?.content, var signed = element(of: &certificate)?.content else { return nil }
        if signed.first == 0xA0 { _ = element(of: &signed) }
        for _ in 0..<3 { _ = element(of: &signed) }
        guard var times = element(of: &signed)?.content, element(of: &times) != nil, let end = element(of: &times)
        else { return nil }
        var digits = String(decoding: end.content, as: UTF8.self)
        // The short form has two digits for the years from 1950 to 2049.
        if end.tag == 0x17 { digits = (digits < "5" ? "20" : "19") + digits }
        let parts = digits.wholeMatch(of: /(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z/)?.output
        return parts.flatMap { try? Date("\($0.1)-\($0.2)-\($0.3)T\($0.4):\($0.5):\($0.6)Z", strategy: .iso8601) }
    }

    /// Takes the next element of an encoding (DER, X.690) from its beginning.
    private static func element(of bytes: inout ArraySlice<UInt8>) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            count = 0
            for _ in 0..<(first & 0x7F) {
                guard let byte = bytes.popFirst(), count < 1 << 32 else { return nil }
                count = count << 8 | Int(byte)
            }
        }
        guard count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return (tag, bytes.prefix(count))
    }
}
