import Foundation

/// The end of a certificate's validity. librdkafka does not say why a broker refuses a client's certificate, and brokers rarely do.
enum ClientCertificate {
    /// When the client certificate in this configuration expires; nil if it has none in PEM format.
    static func end(for configuration: KafkaConfiguration) -> Date? {
        let path = configuration["ssl.certificate.location"]
        return (configuration["ssl.certificate.pem"] ?? path.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) })
            .flatMap(end(ofPEM:))
    }

    /// When the first certificate in a text expires.
    static func end(ofPEM text: String) -> Date? {
        // Its validity (RFC 5280) is the first place with two times in a row, each after a tag and its length (DER, X.690).
        let validity =
            #/
            (?:\x{17}\x{0D}\d{12}|\x{18}\x{0F}\d{14})Z(?:\x{17}\x{0D}|\x{18}\x{0F})
            (\d*)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z
            /#
        guard let match = text.firstMatch(of: /-----BEGIN CERTIFICATE-----([^-]+)-----END/),
            let bytes = Data(base64Encoded: String(match.1), options: .ignoreUnknownCharacters),
            let time = String(data: bytes, encoding: .isoLatin1)?.firstMatch(of: validity)?.output
        else { return nil }
        // The short form has two digits for the years from 1950 to 2049.
        let year = time.1.count == 4 ? time.1 : (time.1 < "5" ? "20" : "19") + time.1
        return try? Date("\(year)-\(time.2)-\(time.3)T\(time.4):\(time.5):\(time.6)Z", strategy: .iso8601)
    }
}
