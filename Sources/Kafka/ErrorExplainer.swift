import Foundation
import Synchronization

/// Makes librdkafka's errors more specific, using what librdkafka reports elsewhere.
///
/// Version 2.0.2 says of any bad broker certificate that it could not be verified, and suspects the CA; only the verification
/// callback learns the reason. Only the log says which partition could not be added to a transaction, and that a session timed out.
final class ErrorExplainer: Sendable {
    private let certificate = Mutex<String?>(nil)
    private let partition = Mutex<String?>(nil)
    private let session = Atomic(false)
    /// When the client's own certificate expires, if that is known.
    let clientCertificateEnd = Mutex<Date?>(nil)

    var sessionTimedOut: Bool { session.load(ordering: .acquiring) }

    /// - Returns: why a connection could not be made, if the line says so.
    func observe(facility: String, line: String) -> KafkaError? {
        if facility == "SESSTMOUT" { session.store(true, ordering: .releasing) }
        let noConnection =
            /\]: (.*: (?:Connect to .* failed:|Failed to resolve .*:|Disconnected .*(?:ApiVersion|APIVERSION)|.* unexpected eof).*)/
        if facility == "FAIL", let match = line.firstMatch(of: noConnection) {
            return explained(KafkaError(code: .transport, message: String(match.1)))
        }
        // The broker also names partitions that it did not try to add because of that one.
        if facility == "ADDPARTS", line.contains("authorization failed"),
            let start = line.firstRange(of: "Failed to add partition")
        {
            partition.withLock { $0 = String(line[start.lowerBound...]) }
        }
        return nil
    }

    /// Learns from OpenSSL's verdict on a certificate in a broker's chain; 0 is valid.
    func observe(verdict code: Int32) {
        if code != 0 { certificate.withLock { $0 = Self.fault(ofCertificate: code) } }
    }

    func explained(_ error: KafkaError) -> KafkaError {
        if error.message.hasPrefix("Failed to add partition(s)"), let detail = partition.withLock(\.self) {
            return error.with(\.message, detail)
        }
        // Begins with the connection's name, such as `ssl://kafka:9093/bootstrap` or `GroupCoordinator: kafka:9093`, and ends with
        // its state and for how long it had been in it.
        let pattern = /(?:[A-Za-z]+: )?(?:[a-z_]+:\/\/)?([^ \/]+:\d+)(?:\/-?\w+)?: (.+?)( \(after \d+ms in state .*\))?/
        guard let match = error.message.wholeMatch(of: pattern) else { return error }
        let (code, reason) = reason(error.code, String(match.2), state: String(match.3 ?? ""))
        return KafkaError(code: code, message: reason).with(\.broker, String(match.1))
    }

    /// Why a connection failed, without librdkafka's jargon.
    private func reason(_ code: KafkaError.Code, _ text: String, state: String) -> (KafkaError.Code, String) {
        if text.contains("certificate verify failed"), let fault = certificate.withLock(\.self) { return (.ssl, fault) }
        if text.contains(/alert (bad )?certificate|alert unknown ca/) {
            if let end = clientCertificateEnd.withLock(\.self), end < .now {
                let time = end.formatted(.iso8601)
                return (
                    .ssl, "the client certificate that this process has loaded expired at \(time) (see ssl.certificate.location)"
                )
            }
            return (
                .ssl,
                "the broker wants another client certificate, or one at all (see ssl.certificate.location and ssl.key.location)"
            )
        }
        if text.contains("wrong version number") { return (.ssl, "the listener does not speak TLS (see security.protocol)") }
        if text.contains("unexpected eof"), text.contains("handshake failed") || state.contains("SSL_HANDSHAKE") {
            return (.transport, "\(Self.hangUps[1]); perhaps the listener does not speak TLS (see security.protocol)")
        }
        // A connection that breaks during authentication is not a refusal.
        if code == .authentication, text.contains(/Sasl\w+Request failed: Local:/) { return (.transport, text) }
        if let match = text.wholeMatch(of: /Connect to .* failed: (.+)/) {
            return (.transport, match.1.prefix(1).lowercased() + match.1.dropFirst())
        }
        if let match = text.wholeMatch(of: /Failed to resolve .*?: (.+)/) {
            return (.resolve, "the name is not resolved (\(match.1))")
        }
        if let match = text.firstMatch(of: /Invalid response size (-?\d+)/) {
            // Where Kafka sends a size, other servers send the first four bytes of their protocol.
            switch UInt32(bitPattern: Int32(match.1) ?? 0) {
            case 0x4854_5450: return (.transport, "an HTTP server answers, not Kafka")
            case 0x1500_0000...0x17FF_FFFF: return (.transport, "the listener speaks TLS (see security.protocol)")
            default: return (.transport, "what answers is not Kafka")
            }
        }
        if text.hasPrefix("Disconnected while requesting ApiVersion") || text == "Disconnected" && state.contains("APIVERSION") {
            let tls = text.contains("SSL listener") ? "the listener speaks TLS (see security.protocol), or " : ""
            return (.transport, "\(Self.hangUps[0]); perhaps \(tls)it is not a Kafka port")
        }
        if text.contains("might require SASL") {
            return (.transport, "hung up at once; perhaps the listener wants SASL (see security.protocol)")
        }
        if text.hasPrefix("ApiVersionRequest failed: Local: Read underflow") {
            // Versions before 2.2 cannot skip tagged fields (KIP-482) that some brokers add to this answer.
            let known = KafkaConfiguration.fetchesOn ? "" : "; 2.2 can"
            return (.unparsable, "this librdkafka (\(KafkaLibrary.version)) cannot read the broker's answer\(known)")
        }
        if text.contains("not valid in current SASL state") { return (code, "the listener wants no SASL (see security.protocol)") }
        if text.contains(/[Tt]imed out/) { return (code, Self.silence) }
        return (code, text.contains(/^(Disconnected|Receive failed|Send failed)/) ? Self.breakdown : text)
    }

    static let silence = "nothing comes back (it hangs, a firewall drops it, or it is not a Kafka port)"
    static let breakdown = "the connection broke"
    private static let hangUps = ["hung up at the first request", "hung up during the TLS handshake"]

    /// Whether a broker closed a connection right after it was made.
    static func isHangUp(_ reason: String) -> Bool { hangUps.contains { reason.hasPrefix($0) } }

    /// Whether this reason may be only a symptom of a broker that is going down, so that a better reason follows.
    static func isSymptom(_ reason: String) -> Bool { reason == silence || reason == breakdown || reason.hasPrefix("hung up") }

    /// The meaning of one of OpenSSL's codes, from `openssl/x509_vfy.h`.
    static func fault(ofCertificate code: Int32) -> String {
        switch code {
        case 9: "the broker's certificate is not valid yet"
        case 10: "the broker's certificate has expired"
        case 18, 19, 20, 21: "the broker's certificate is of no authority that is trusted here (see ssl.ca.location)"
        case 23: "the broker's certificate is revoked"
        case 62, 64: "the broker's certificate is for another host name"
        default: "the broker's certificate is not valid (OpenSSL's error \(code))"
        }
    }
}
