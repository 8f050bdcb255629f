import Foundation
import Logging
import Synchronization

/// The properties that clients authenticate with, and their source.
///
/// Certificates and passwords are renewed on disk while a process runs. librdkafka reads them only when it creates a client, and
/// brokers check them only when a connection is made. So their owner calls ``reload()`` after a broker has refused a client.
package final class Credentials: Sendable {
    private struct Loaded: Equatable {
        let properties: [String: String]
        /// Hashes of the files that properties name, such as `ssl.certificate.location`.
        let files: [String: Int]

        init(_ properties: [String: String]) {
            self.properties = properties
            // `Data` hashes only its first 80 bytes, which many certificates share.
            files = properties.filter { $0.key.hasSuffix(".location") }.mapValues {
                FileManager.default.contents(atPath: $0).map { Array($0).hashValue } ?? 0
            }
        }
    }

    private let source: (@Sendable () throws -> [String: String])?
    private let loaded: Mutex<Loaded>
    private let changes = Atomic(0)

    /// - Parameters:
    ///   - properties: the clients' properties.
    ///   - source: reads the properties again from their origin; nil if only the files that they name may change.
    package init(_ properties: [String: String], source: (@Sendable () throws -> [String: String])? = nil) {
        self.source = source
        loaded = Mutex(Loaded(properties))
    }

    package var properties: [String: String] { loaded.withLock(\.properties) }

    /// How often the properties or their files have changed. When this number changes, the owner of a client replaces it.
    package var generation: Int { changes.load(ordering: .acquiring) }

    package static let change = "certificates or passwords on disk have changed, and those in memory are refused"

    /// Reads properties and files again.
    ///
    /// - Returns: whether they have changed and librdkafka accepts them: a file may be half-written, or its key missing.
    package func reload() -> Bool {
        guard let found = try? source.map({ try $0() }) ?? properties else { return false }
        let now = Loaded(found)
        let silent = Logger(label: "credentials") { _ in SwiftLogNoOpLogHandler() }
        guard loaded.withLock({ $0 != now }),
            (try? Admin(configuration: KafkaConfiguration(found), hooks: ClientHooks(logger: silent))) != nil
        else { return false }
        loaded.withLock { $0 = now }
        changes.add(1, ordering: .releasing)
        return true
    }
}
