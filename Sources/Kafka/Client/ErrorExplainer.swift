import CRdKafka
import Synchronization

/// Makes librdkafka's errors more specific, by what librdkafka reports elsewhere.
///
/// Version 2.0.2 says of any bad broker certificate that it could not be verified, and suspects the CA; only the verification
/// callback learns the reason. It only logs which partition could not be added to a transaction, and that a session timed out.
final class ErrorExplainer: Sendable {
    private let certificate = Mutex<String?>(nil)
    private let partition = Mutex<String?>(nil)
    private let session = Atomic(false)

    /// Whether the client has ever heard nothing from its coordinator for `session.timeout.ms`.
    var sessionTimedOut: Bool { session.load(ordering: .acquiring) }

    /// Learns from a line of librdkafka's log.
    func observe(facility: String, line: String) {
        if facility == "SESSTMOUT" { session.store(true, ordering: .releasing) }
        // The broker also names partitions that it did not try to add because of that one.
        guard facility == "ADDPARTS", line.contains("authorization failed"),
            let start = line.firstRange(of: "Failed to add partition")
        else { return }
        partition.withLock { $0 = String(line[start.lowerBound...]) }
    }

    /// Learns from OpenSSL's verdict on a certificate in a broker's chain.
    ///
    /// - Returns: whether the certificate is valid.
    func observeVerdict(_ code: Int32) -> Bool {
        guard code != 0 else { return true }
        certificate.withLock { $0 = Self.fault(ofCertificate: code) }
        return false
    }

    /// The same error, with a clearer message if there is one.
    func explained(_ error: KafkaError) -> KafkaError {
        let message = error.message
        if message.hasPrefix("Failed to add partition(s)"), let detail = partition.withLock({ $0 }) { return error.saying(detail) }
        if message.contains("certificate verify failed"), let fault = certificate.withLock({ $0 }) {
            return Self.ssl("\(Self.place(of: message)): \(fault)")
        }
        if message.contains(/alert (bad )?certificate|alert unknown ca/) {
            return Self.ssl(
                "\(Self.place(of: message)): the broker wants another client certificate, or one at all"
                    + " (see ssl.certificate.location and ssl.key.location)")
        }
        if message.contains("wrong version number") {
            return Self.ssl("\(Self.place(of: message)): the listener does not speak TLS (see security.protocol)")
        }
        if message.contains(/handshake failed.*unexpected eof/) {
            return KafkaError(
                code: .transport,
                message: "\(Self.place(of: message)): hung up during the TLS handshake; perhaps the listener does not"
                    + " speak TLS (see security.protocol)")
        }
        // A connection that breaks during authentication is not a refusal.
        if error.code == .authentication, message.contains(/Sasl\w+Request failed: Local:/) {
            return KafkaError(code: .transport, message: message)
        }
        return error
    }

    private static func ssl(_ message: String) -> KafkaError { KafkaError(code: .ssl, message: message) }

    /// librdkafka's message begins with the connection's name, such as `ssl://kafka:9093/bootstrap`.
    private static func place(of message: String) -> Substring { message.prefix { $0 != " " }.dropLast() }

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

extension KafkaError {
    /// The same error with another message.
    func saying(_ message: String) -> KafkaError {
        KafkaError(code: code, message: message, isFatal: isFatal, isRetriable: isRetriable, requiresAbort: requiresAbort)
    }

    /// The same error, marked so that the transaction cannot continue.
    var requiringAbort: KafkaError {
        KafkaError(code: code, message: message, isFatal: isFatal, isRetriable: isRetriable, requiresAbort: true)
    }

    /// Why a client cannot be created, with a hint if there is one.
    static func refusedConfiguration(_ reason: String) -> KafkaError {
        let hint = reason.hasPrefix("ssl.key.location failed") ? " (is ssl.key.password right?)" : ""
        return KafkaError(code: .invalidArgument, message: reason + hint)
    }
}
